"""The paper's inertia for each head: mu_d(s, a_prev) of its own, whatever the other heads do.

    pi_d = mu_d delta(a_prev_d) + (1 - mu_d) pi_core_d

The critics have a branch for each head, Q_d(s, a_prev, a_d), as in `head_gate`. All heads learn
from one target, r + gamma mean_d V_d(s'), where V_d = pi_d^T [Q_d - alpha log pi_d] is the soft
value of a head. So the best mu_d has the closed form of a single list of actions
(`losses.best_inertia`), from the values of its own branch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import branching_losses, losses
from policy_inertia.algorithms.controllers.inertia import IMPROVEMENTS, Inertia, InertiaConfig
from policy_inertia.algorithms.interface import Traits
from policy_inertia.algorithms.nested import ControllerParts
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.types import Array, Tree


@dataclass(frozen=True)
class HeadInertiaConfig(InertiaConfig):
    """Settings of an inertia for each head."""

    improvement: Literal["gradient", "closed-form"] = "closed-form"
    """How each mu is improved; see the inertia of one list of actions."""

    @property
    def traits(self) -> Traits:
        return replace(super().traits, actions="multi_discrete")

    def controller(self, spec: Spec) -> HeadInertia:
        return HeadInertia(self, spec)

    def parts(self, params: Tree) -> ControllerParts:
        return replace(super().parts(params), rule="head-mixture")


class HeadInertia(Inertia):
    """A mu for each head from one network, and critics with a branch for each head."""

    def __init__(self, config: HeadInertiaConfig, spec: Spec) -> None:
        actions: Any = spec.actions
        self.parts, self.outputs = actions.parts, len(actions.parts)
        super().__init__(config, spec)
        self.residual = partial(branching_losses.branching_residual, parts=self.parts)

    def _heads(self, function: Callable[[int, slice], Array]) -> list[Array]:
        """What a function of a head's number and place gives for each head."""
        return [function(d, part) for d, part in enumerate(self.parts)]

    def pre_activation(self, pic: Tree, obs: Array, last: Array, xp: Any = jnp) -> Array:
        """(B, H)."""
        return self.network(pic, obs, last, xp)

    def mixture(self, x: Array, log_core: Array, prev_action: Array, xp: Any = jnp) -> Array:
        def own(d: int, part: slice) -> Array:
            mu0, previous = self.config.mu0, prev_action[..., d]
            return losses.log_mixture(x[..., d], log_core[..., part], previous, mu0, xp)

        return xp.concatenate(self._heads(own), -1)

    def state_value(self, log_pi: Array, q: Array) -> Array:
        def own(d: int, part: slice) -> Array:
            return losses.soft_value(log_pi[..., part], q[..., part], self.config.temperature)

        return jnp.stack(self._heads(own)).mean(0)

    def inertia_loss(self, x: Array, log_core: Array, prev_action: Array, q: Array) -> Array:
        loss = IMPROVEMENTS[self.config.improvement]

        def own(d: int, part: slice) -> Array:
            rows = (x[..., d], log_core[..., part], prev_action[..., d], q[..., part])
            return loss(*rows, self.config)

        return jnp.stack(self._heads(own)).mean()

    def repeatable(self, prev_action: Array, log_core: Array, xp: Any = jnp) -> Array:
        return branching_losses.allowed_previous_heads(prev_action, log_core, self.parts, xp)

    def hold_probability(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        raise InputError(
            "an inertia for each head cannot decide for an agent: use the policy itself"
        )
