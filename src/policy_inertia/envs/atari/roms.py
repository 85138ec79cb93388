"""The games that ale-py has, their names and their ROMs."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from typing import Any

from policy_inertia.envs.registry import env_id
from policy_inertia.errors import InputError, nearest, shown

PAPER = {
    "MsPacman": "ms_pacman",
    "SpaceInvaders": "space_invaders",
    "Qbert": "qbert",
    "JamesBond": "jamesbond",
}
STICKY = 0.25  # the probability of sticky actions of the ids ALE/...-v5
_TWO_PLAYERS = {"combat", "joust", "maze_craze", "warlords"}  # ALE ends a process that loads them
_OLDEST = (0, 12, 1)  # in older versions a reset of some of the envs fails or never returns


@cache
def library() -> Any:
    """Return the module ale-py; raise `InputError` if it is missing or too old."""
    try:
        import ale_py
        import ale_py.vector_env
    except ImportError as error:
        raise InputError("Atari games need ale-py: pip install 'policy-inertia[atari]'") from error
    installed_version = version("ale-py")
    if tuple(map(int, re.findall(r"\d+", installed_version)[:3])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InputError(
            f"Atari games need ale-py {oldest} or later, found {installed_version}: "
            "pip install --upgrade 'policy-inertia[atari]'"
        )
    return ale_py


@cache
def vector_class() -> type:
    """Return ale-py's vector env with metadata of its own.

    ale-py writes its autoreset mode into the metadata that all vector envs share.
    """
    return type("Games", (library().vector_env.AtariVectorEnv,), {"metadata": {}})


def installed() -> bool:
    """Return whether a usable ale-py is installed."""
    try:
        library()
    except InputError:
        return False
    return True


@cache
def games() -> dict[str, str]:
    """Return the ROM of each game by the game's name; without ale-py, of the paper's four."""
    if not installed():
        return PAPER
    ale_py, papers = library(), {rom: name for name, rom in PAPER.items()}
    roms = (rom for rom in ale_py.roms.get_all_rom_ids() if rom not in _TWO_PLAYERS)
    return {papers.get(rom, ale_py.registration.rom_id_to_name(rom)): rom for rom in roms}


def resolve(env: str, kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return our id and env arguments for `ALE/Breakout-v5` and the like; others are unchanged.

    ale-py's ids have sticky actions.
    """
    if not env.startswith("ALE/"):
        return env, kwargs
    ale_name = library().registration.rom_id_to_name
    known = {f"ALE/{ale_name(rom)}-v5": env_id(name) for name, rom in games().items()}
    if env not in known:
        raise InputError(f"there is no env '{env}'{nearest(env, known)}")
    return known[env], {"repeat_action_probability": STICKY} | kwargs


def rom_of(game: str) -> Any:
    """Return the path of a game's ROM; raise `InputError` if there is no such game or file."""
    roms = library().roms
    if game not in games().values():
        raise InputError(f"there is no game {shown(game)}{nearest(game, games().values())}")
    try:
        return roms.get_rom_path(game)
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"the ROM of {game} cannot be read ({reason}): install ale-py again (it contains "
            "the ROMs), or correct ALE_ROMS_DIR if you have set it"
        ) from error
