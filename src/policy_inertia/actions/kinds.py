"""The kinds of action spaces that are implemented, one row each."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.space import ActionSpace
from policy_inertia.errors import InputError

KINDS: tuple[type[Discrete], ...] = (Discrete,)


def from_gym(space: gym.Space[Any], env: str) -> ActionSpace:
    """The action space of an env; `env` names it in the error.

    Raises:
        InputError: The space is of a kind that is not supported.
    """
    for kind in KINDS:
        actions = kind.from_gym(space)
        if actions is not None:
            return actions
    raise InputError(
        f"{env} has the action space {space}: policy inertia needs Discrete actions, so wrap the "
        "env to offer a finite list of actions"
    )


def from_dict(values: dict[str, Any]) -> ActionSpace:
    """The inverse of an action space's `to_dict`."""
    kinds = {kind.kind: kind for kind in KINDS}
    return kinds[values["kind"]](**{k: v for k, v in values.items() if k != "kind"})
