"""What rivals add to the loss of an actor for Box actions so that its actions are smooth."""

from __future__ import annotations

from collections.abc import Callable

from jax import numpy as jnp

from policy_inertia.algorithms import box_losses
from policy_inertia.algorithms.box_learning import noises
from policy_inertia.types import Array, Number, Transition, Tree

Outputs = Callable[[Tree, Array], Array]
"""From an actor's parameters and observations to what its network returns: means, log-deviations
and what a regulariser adds, each as many as an action has numbers."""


class Regulariser:
    """What is added to the actor's loss; this one adds nothing."""

    heads = 0
    """How many more outputs the actor has for each number of an action; they do not act."""

    def init(self, actor: Tree) -> Tree:
        """Make what the regulariser carries along."""
        return ()

    def draw(self, key: Array, batch: Transition) -> tuple[Array, Array | None]:
        """The next key, and the random numbers of an update."""
        return key, None

    def loss(
        self, state: Tree, outputs: Outputs, actor: Tree, batch: Transition, noise: Array | None
    ) -> Number:
        """What is added to the loss."""
        return 0.0

    def follow(self, state: Tree, actor: Tree) -> Tree:
        """What the regulariser carries along after the actor's step."""
        return state


class CAPS(Regulariser):
    """lambda_T L_T + lambda_S L_S for the mean action; see `box_losses.caps_distance`.

    Args:
        temporal: lambda_T.
        spatial: lambda_S.
        deviation: Standard deviation of the numbers of a state near another.
    """

    def __init__(self, temporal: float, spatial: float, deviation: float) -> None:
        self.temporal, self.spatial, self.deviation = temporal, spatial, deviation

    def draw(self, key: Array, batch: Transition) -> tuple[Array, Array | None]:
        key, (near,) = noises(key, 1, batch.obs.shape)
        return key, near

    def loss(
        self, state: Tree, outputs: Outputs, actor: Tree, batch: Transition, noise: Array | None
    ) -> Number:
        assert noise is not None, "as drawn"
        d = batch.action.shape[-1]

        def mean(obs: Array) -> Array:
            return jnp.tanh(outputs(actor, obs)[..., :d])

        action, near = mean(batch.obs), mean(batch.obs + self.deviation * noise)
        temporal = box_losses.caps_distance(action, mean(batch.next_obs))
        return self.temporal * temporal + self.spatial * box_losses.caps_distance(action, near)
