"""The kinds of action spaces that are implemented, one row each."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import Discrete, whole_numbers
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.actions.space import ActionSpace
from policy_inertia.errors import InputError, nearest
from policy_inertia.schema import read_as

KINDS: tuple[type[Any], ...] = (Discrete, MultiDiscrete, Box)


def from_gym(space: gym.Space[Any], env: str) -> ActionSpace:
    """The action space of an env; `env` names it in the error.

    Raises:
        InputError: The space is of a kind that is not supported.
    """
    for kind in KINDS:
        try:
            actions = kind.from_gym(space)
        except InputError as error:
            raise InputError(f"{env} has the action space {space}: {error}") from error
        if actions is not None:
            return actions
    raise InputError(
        f"{env} has the action space {space}: policy inertia needs Discrete, MultiDiscrete, "
        "MultiBinary or Box actions, so wrap the env to offer one of them"
    )


def from_values(
    values: np.ndarray, where: object
) -> tuple[ActionSpace, np.ndarray, tuple[str, ...]]:
    """A space for logged actions, the actions as the library has them, and their names.

    Args:
        values: Finite numbers, or texts that name actions.
        where: Where they come from, for error messages.

    Raises:
        InputError: They are of no kind that is supported.
    """
    for kind in KINDS:
        read = kind.from_values(values)
        if read is not None:
            return read
    strange = values[~whole_numbers(values)][0]
    raise InputError(
        f"{where} holds the action {strange:g}: expected discrete actions, which are whole numbers "
        "or names"
    )


def from_dict(values: dict[str, Any]) -> ActionSpace:
    """The inverse of an action space's `to_dict`.

    Raises:
        InputError: The kind is unknown, or a value is missing or wrong.
    """
    kinds = {kind.kind: kind for kind in KINDS}
    values = dict(values)
    name = str(values.pop("kind", ""))
    if name not in kinds:
        raise InputError(f"the actions are of kind '{name[:60]}'{nearest(name, kinds)}")
    return read_as(kinds[name], values)
