"""The games that MinAtar has, and its module."""

from __future__ import annotations

from functools import cache
from typing import Any

from policy_inertia.errors import InputError, nearest, shown

GAMES = {
    "Asterix": "asterix",
    "Breakout": "breakout",
    "Freeway": "freeway",
    "Seaquest": "seaquest",
    "SpaceInvaders": "space_invaders",
}
"""MinAtar's name of each game, by the name in our ids."""
ACTIONS = ("NOOP", "LEFT", "UP", "RIGHT", "DOWN", "FIRE")
"""The names of MinAtar's six actions."""


@cache
def library() -> Any:
    """Return the module minatar; raise `InputError` if it is missing."""
    try:
        import minatar
    except ImportError as error:
        raise InputError(
            "MinAtar games need minatar: pip install 'policy-inertia[minatar]'"
        ) from error
    return minatar


def make_game(game: str, sticky_action_prob: float, difficulty_ramping: bool) -> Any:
    """Return a game as MinAtar's own `Environment`; raise `InputError` for an unknown name."""
    names: Any = GAMES.values()
    if game not in names:
        raise InputError(f"there is no game {shown(game)}{nearest(game, names)}")
    return library().Environment(game, sticky_action_prob, difficulty_ramping)
