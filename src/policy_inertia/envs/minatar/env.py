"""MinAtar games as Gymnasium envs in which an episode depends on its seed and actions alone."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.minatar.games import ACTIONS, GAMES, make_game
from policy_inertia.envs.registry import env_id
from policy_inertia.errors import InputError, nearest, shown

EPISODE_FRAMES = 5_000
"""An episode is truncated after so many frames. MinAtar has no limit; this one is ours."""
SEEDS = 2**32  # those of NumPy's RandomState, which MinAtar uses, are below this
CELL = 16  # pixels per side of a cell in a picture
COLOURS = np.array(
    [
        (0, 0, 0),  # an empty cell
        (230, 230, 230),
        (222, 82, 60),
        (120, 120, 120),
        (240, 190, 60),
        (80, 170, 230),
        (110, 190, 90),
        (170, 110, 200),
        (240, 140, 180),
        (60, 200, 190),
        (200, 160, 110),
    ],
    np.uint8,
)
"""Of each plane; where several planes are set, the first one is seen."""


class MinAtarEnv(gym.Env[np.ndarray, Any]):
    """One game. Observations are boolean planes of shape (10, 10, planes).

    MinAtar's own `reset` keeps the last action, which sticky actions may then take in the next
    episode. Here a reset forgets it, so that `reset(seed=...)` gives the same episode whatever
    happened before. An env can also be copied with `copy.deepcopy`.

    Args:
        game: MinAtar's name of the game, such as "space_invaders".
        render_mode: "rgb_array" or None.
        sticky_action_prob: The probability that a frame takes the action of the frame before.
        difficulty_ramping: Whether the game becomes harder with time, as it does in MinAtar.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(
        self,
        game: str = "breakout",
        render_mode: str | None = None,
        sticky_action_prob: float = 0.1,
        difficulty_ramping: bool = False,
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise InputError(
                f"there is no render_mode {shown(render_mode)}{nearest(render_mode, modes)}"
            )
        sticky, ramping = _probability(sticky_action_prob), _flag(difficulty_ramping)
        self.render_mode = render_mode
        self._game = make_game(game, sticky, ramping)
        self._actions = self._game.minimal_action_set()
        self.action_names = tuple(ACTIONS[a] for a in self._actions)
        self.action_space = gym.spaces.Discrete(len(self._actions))
        self.observation_space = gym.spaces.Box(0, 1, tuple(self._game.state_shape()), np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; without a seed, the game's generator goes on."""
        super().reset(seed=seed)
        if seed is not None:
            self._game.seed(seed % SEEDS)
        self._game.reset()
        self._game.last_action = 0
        return self._game.state(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise InputError(
                f"an action is a number from 0 to {len(self._actions) - 1}, got {shown(action)}"
            )
        reward, terminated = self._game.act(self._actions[action])
        return self._game.state(), float(reward), bool(terminated), False, {}

    def render(self) -> np.ndarray | None:
        """Return the planes as a picture, each in its own colour."""
        if self.render_mode is None:
            gym.logger.warn('render() does nothing without a mode: give render_mode="rgb_array"')
            return None
        planes = self._game.state()
        colours = COLOURS[np.where(planes.any(axis=2), planes.argmax(axis=2) + 1, 0)]
        return colours.repeat(CELL, axis=0).repeat(CELL, axis=1)


def _probability(value: Any) -> float:
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not 0 <= value < 1:
        raise InputError(
            f"sticky_action_prob is {shown(value)}: it must be a number from 0 to below 1"
        )
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"difficulty_ramping is {shown(value)}: it must be True or False")
    return bool(value)


def register() -> None:
    """Register the games with `gym.make`."""
    for name, game in GAMES.items():
        gym.register(
            env_id(f"MinAtar-{name}"),
            entry_point=f"{__name__}:{MinAtarEnv.__name__}",
            max_episode_steps=EPISODE_FRAMES,
            kwargs={"game": game},
        )
