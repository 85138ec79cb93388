"""ASAP on SAC: actions that agree with what was predicted for them one state before.

The equations are those of Kwak and Hwang (AAAI 2026), "Enhancing Control Policy Smoothness by
Aligning Actions with Predictions from Preceding States".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import optax
from jax import numpy as jnp

from policy_inertia.algorithms import box_losses, interface
from policy_inertia.algorithms.box_sac import BoxSACConfig
from policy_inertia.algorithms.regulariser import Outputs, Regulariser
from policy_inertia.errors import refuse_outside
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class ASAPConfig(BoxSACConfig):
    """Settings of SAC with ASAP; the weights are those of its authors for Hopper with SAC."""

    asap_spatial: float = 10.0
    """Weight of the distance between an action and what was predicted for it (lambda_S)."""
    asap_prediction: float = 2.0
    """Weight of the prediction's own error (lambda_P)."""
    asap_temporal: float = 0.5
    """Weight of the second difference of three actions in a row (lambda_T)."""
    asap_target_rate: float = 0.01
    """Share of the actor that moves at each update into the network whose predictions count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_outside(self, 0, None, "asap_spatial", "asap_prediction", "asap_temporal")
        refuse_outside(self, 0, 1, "asap_target_rate")

    @property
    def traits(self) -> interface.Traits:
        return replace(super().traits, preceded=True)

    def regulariser(self) -> Regulariser:
        return ASAP(self)


class ASAP(Regulariser):
    """lambda_S L_S + lambda_P L_P + lambda_T L_T for the mean action.

    The actor has a third output, the action that it predicts for the next state. The prediction
    that actions are aligned with comes from a slow average of the actor.
    """

    heads = 1

    def __init__(self, config: ASAPConfig) -> None:
        self.config = config

    def init(self, actor: Tree) -> Tree:
        return jax.tree.map(jnp.copy, actor)  # a donated state must not hold one buffer twice

    def loss(
        self, state: Tree, outputs: Outputs, actor: Tree, batch: Transition, noise: Array | None
    ) -> Number:
        config, d = self.config, batch.action.shape[-1]
        rows: Any = batch  # `Preceded`, as the trait asks
        now = outputs(actor, batch.obs)
        action, predicted = jnp.tanh(now[..., :d]), now[..., 2 * d :]
        before = jnp.tanh(outputs(actor, rows.prev_obs)[..., :d])
        after = jnp.tanh(outputs(actor, batch.next_obs)[..., :d])
        slow = outputs(state, batch.obs)[..., 2 * d :]
        known = ~jnp.isnan(batch.prev_action).all(-1)  # the null action is a row of NaN
        return (
            config.asap_spatial * box_losses.alignment(after, slow)
            + config.asap_prediction * box_losses.alignment(predicted, after)
            + config.asap_temporal * box_losses.bend(before, action, after, known)
        )

    def follow(self, state: Tree, actor: Tree) -> Tree:
        return optax.incremental_update(actor, state, self.config.asap_target_rate)
