"""A frozen core: somebody's policy, with nothing to learn.

What it says comes with the observation, whose last numbers (`Spec.aside`) are its log-probabilities
and scores, put there by `SpacesWithCore` when the env gave it. So they are stored with every
transition, and the learner never calls the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms.interface import Acting, Algorithm, Updated, no_exploration, plain
from policy_inertia.errors import InputError
from policy_inertia.types import Array, Spec, Transition, Tree


@dataclass(frozen=True)
class FrozenConfig:
    """Which policy it is; there is nothing to set."""

    name: str = ""
    """What to call it."""
    answers: str = ""
    """A digest of its best actions at a few observations: no other core may take its place."""


def frozen(config: FrozenConfig, spec: Spec) -> Algorithm:
    """The core whose answers are the last `2 A` numbers of each observation."""
    n_actions = spec.n_actions
    if spec.aside != 2 * n_actions:
        raise InputError(
            "a frozen core needs a policy that you have: use policy_inertia.smooth(core, env) or "
            "'policy-inertia smooth CORE ENV'"
        )

    def init(rng: np.random.Generator) -> Tree:
        return ()

    def update(state: Tree, batch: Transition, due: Array) -> Updated:
        return state, {}, None

    def acting(state: Tree) -> Tree:
        return state

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> Acting:
        return plain(obs[..., -2 * n_actions : -n_actions], obs[..., -n_actions:])

    return Algorithm(init, update, acting, apply, no_exploration, ())
