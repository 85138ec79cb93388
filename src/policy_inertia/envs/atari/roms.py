"""Which games there are, under which names, and what is said where one is missing."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from typing import Any

from policy_inertia.errors import InputError, nearest

PAPER = {
    "MsPacman": "ms_pacman",
    "SpaceInvaders": "space_invaders",
    "Qbert": "qbert",
    "JamesBond": "jamesbond",
}
STICKY = 0.25  # of the ids ALE/...-v5
_FOR_TWO = {"combat", "joust", "maze_craze", "warlords"}  # ALE ends the process that loads these
_OLDEST = (0, 12, 1)  # before it, a reset of some of the envs fails or never returns


@cache
def library() -> Any:
    """ale-py, or a sentence about it."""
    try:
        import ale_py
        import ale_py.vector_env
    except ImportError as error:
        raise InputError("Atari games need ale-py: pip install 'policy-inertia[atari]'") from error
    found = version("ale-py")
    if tuple(map(int, re.findall(r"\d+", found)[:3])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InputError(
            f"Atari games need ale-py {oldest} or later, found {found}: "
            "pip install --upgrade 'policy-inertia[atari]'"
        )
    return ale_py


@cache
def vector_class() -> type:
    """ale-py's vector env, kept from writing its mode into what all vector envs share."""
    return type("Games", (library().vector_env.AtariVectorEnv,), {"metadata": {}})


def installed() -> bool:
    """Whether there is an ale-py to play with."""
    try:
        library()
    except InputError:
        return False
    return True


@cache
def games() -> dict[str, str]:
    """Every game's name with its ROM's; the paper's four where there is no ale-py to ask."""
    if not installed():
        return PAPER
    ale_py, ours = library(), {rom: name for name, rom in PAPER.items()}
    roms = (rom for rom in ale_py.roms.get_all_rom_ids() if rom not in _FOR_TWO)
    return {ours.get(rom, ale_py.registration.rom_id_to_name(rom)): rom for rom in roms}


def resolve(env: str, kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """`ALE/Breakout-v5` as our id with that id's sticky actions; any other as it is."""
    if not env.startswith("ALE/"):
        return env, kwargs
    spelled = library().registration.rom_id_to_name
    known = {f"ALE/{spelled(rom)}-v5": f"policy_inertia/{name}-v0" for name, rom in games().items()}
    if env not in known:
        raise InputError(f"there is no env '{env}'{nearest(env, known)}")
    return known[env], {"repeat_action_probability": STICKY} | kwargs


def rom_of(game: str) -> Any:
    """Where a game's ROM lies; a sentence where it does not."""
    roms = library().roms
    if game not in games().values():
        raise InputError(f"there is no game '{game}'{nearest(str(game), games().values())}")
    try:
        return roms.get_rom_path(game)
    except OSError as error:
        why = str(error).splitlines()[0]
        raise InputError(
            f"the ROM of {game} cannot be read ({why}): install ale-py again, which brings it, or "
            "mend ALE_ROMS_DIR if you have set it"
        ) from error
