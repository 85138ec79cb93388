"""A frozen core: a policy that somebody else trained, with nothing to learn.

Its outputs come with the observation: the last numbers of each observation (`Spec.core_outputs`)
are the core's log-probabilities and scores. They are computed once, when the env gives the
observation, and stored with every transition, so the learner never calls the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import interface
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.types import Array, Transition, Tree


@dataclass(frozen=True)
class FrozenConfig(interface.AlgorithmConfig):
    """Which policy the core is; there is nothing to set."""

    name: str = ""
    """The core's name."""
    digest: str = ""
    """A hash of the core's best actions at a few observations: it tells one core from another."""

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values", frozen=True)

    def build(self, spec: Spec) -> interface.Algorithm:
        return frozen(self, spec)


def frozen(config: FrozenConfig, spec: Spec) -> interface.Algorithm:
    """Make the core whose outputs are the last `2 A` numbers of each observation."""
    actions: Any = spec.actions
    n_actions = actions.width
    if spec.core_outputs != 2 * n_actions:
        raise InputError(
            "a frozen core needs a policy that you have: use policy_inertia.smooth(core, env) or "
            "'policy-inertia smooth CORE ENV'"
        )

    def init(rng: np.random.Generator) -> Tree:
        return ()

    def update(state: Tree, batch: Transition, due: Array) -> interface.Updated:
        return interface.Updated(state, {})

    def acting(state: Tree) -> Tree:
        return state

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> interface.Acting:
        log_pi = obs[..., -2 * n_actions : -n_actions]
        return interface.plain(actions.distribution(log_pi), obs[..., -n_actions:])

    return interface.Algorithm(
        init, update, acting, apply, (), interface.sampling(apply, spec.actions)
    )
