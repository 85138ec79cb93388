"""A frozen core: a policy that somebody else trained, with nothing to learn.

Its outputs come with the observation: the last numbers of each observation (`Spec.core_outputs`)
are the core's log-probabilities and scores, or for Box actions its action. They are computed once,
when the env gives the observation, and stored with every transition, so the learner never calls the
core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.box import Point
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
        actions: Any = spec.actions
        n_actions = actions.width

        def acting(obs: Array, xp: Any) -> interface.Acting:
            log_pi = obs[..., -2 * n_actions : -n_actions]
            return interface.plain(actions.distribution(log_pi), obs[..., -n_actions:])

        return frozen(spec, n_actions, acting)


@dataclass(frozen=True)
class BoxFrozenConfig(FrozenConfig):
    """Which policy with Box actions the core is; there is nothing to set."""

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits("values", deterministic=True, frozen=True, actions="box")

    def build(self, spec: Spec) -> interface.Algorithm:
        (d,) = spec.actions.shape

        def acting(obs: Array, xp: Any) -> interface.Acting:
            return interface.plain_box(Point(joined_action(obs[..., -2 * d :], d, xp)), len(obs))

        return frozen(spec, d, acting)


def split_action(action: np.ndarray) -> np.ndarray:
    """A core's action in float64, (n, d), as float32 numbers and what they leave out: (n, 2 d)."""
    rounded = action.astype(np.float32)
    return np.concatenate([rounded, (action - rounded).astype(np.float32)], axis=1)


def joined_action(parts: Array, d: int, xp: Any = jnp) -> Array:
    """The inverse of `split_action`; in compiled code the float32 numbers alone."""
    if xp is jnp:
        return parts[..., :d]
    return parts[..., :d].astype(np.float64) + parts[..., d:]


def frozen(
    spec: Spec, n: int, outputs: Callable[[Array, Any], interface.Acting]
) -> interface.Algorithm:
    """Make the core whose outputs are the last `2 n` numbers of each observation.

    Args:
        spec: The sizes of the task.
        n: Half of the number of the core's outputs.
        outputs: Reads them from observations.
    """
    if spec.core_outputs != 2 * n:
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
        return outputs(obs, xp)

    return interface.Algorithm(
        init, update, acting, apply, (), interface.sampling(apply, spec.actions)
    )
