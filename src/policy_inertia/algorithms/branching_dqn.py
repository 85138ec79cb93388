"""Branching dueling Q-learning: DQN for actions with several heads.

One network has a value of the state and advantages for each head (Tavakoli et al., AAAI 2018), so
it has as many outputs as the heads have actions together, however many combinations there are. A
head's values are means over what the other heads do; so what pays only if two heads agree is
learned worse than by `dqn` over the combinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax import numpy as jnp

from policy_inertia.algorithms import branching_losses, interface
from policy_inertia.algorithms.dqn import DQNConfig, QForm, dqn
from policy_inertia.envs.spec import Spec
from policy_inertia.types import Array, Tree


@dataclass(frozen=True)
class BranchingDQNConfig(DQNConfig):
    """Settings of branching DQN: those of DQN."""

    double: bool = True
    """Let the network itself choose each head's next action, whose value its target gives."""

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values", deterministic=True, actions="multi_discrete")

    def build(self, spec: Spec) -> interface.Algorithm:
        return dqn(self, spec, branching_form(spec))


def branching_form(spec: Spec) -> QForm:
    """How the outputs (V, A_1, ..., A_D) of a network become Q-values and a policy."""
    actions: Any = spec.actions
    parts = actions.parts
    matrix = branching_losses.dueling_matrix(parts)

    def folded(params: Tree) -> Tree:
        """The network with the dueling in its last layer: its outputs are Q-values."""
        if isinstance(params, dict):
            return {**params, "head": folded(params["head"])}
        *layers, last = params
        return [*layers, {"w": last["w"] @ matrix, "b": last["b"] @ matrix}]

    def residual(q: Array, action: Array, target: Array, huber: float | None) -> Array:
        return branching_losses.branching_residual(q, action, target, parts, huber)

    def policy(q: Array, xp: Any = jnp) -> Any:
        return actions.distribution(branching_losses.log_greedy_heads(q, parts, xp))

    return QForm(
        1 + actions.width,
        lambda outputs: outputs @ matrix,
        lambda q, chooser: branching_losses.branching_value(q, chooser, parts),
        residual,
        policy,
        folded,
    )
