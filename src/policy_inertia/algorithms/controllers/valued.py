"""Controllers that act by the values of twin critics: what the dial, the gate and limits share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar, Protocol

import jax
import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms.controllers.warm_up import log_probabilities
from policy_inertia.algorithms.interface import Parameters
from policy_inertia.algorithms.learning import (
    Critics,
    adam,
    average_rate,
    init_critics,
    joined,
)
from policy_inertia.algorithms.losses import LOG_ZERO, chosen
from policy_inertia.algorithms.nested import NestedConfig
from policy_inertia.algorithms.reward_noise import RewardNoise
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_huber, refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Tree

Chosen = tuple[Any, Any]
"""mu and the action, (B,) each."""
Join = Callable[[Array], Array]
"""(2, ...) the values of twins -> (...) one value."""


class Choice(Protocol):
    """Choose by Q(s, a_prev, .).

    Args:
        q: (B, A) values, with everything that leaving a_prev costs.
        log_core: (B, A) the core's log-probabilities.
        prev: (B,) previous actions.
        begin: Whether the critics choose an episode's first action (1) or the core (0).
        xp: `jax.numpy` or `numpy`.
    """

    def __call__(
        self, q: Array, log_core: Array, prev: Array, begin: Number = 0, xp: Any = jnp
    ) -> Chosen: ...


@dataclass(frozen=True)
class ValuedConfig(NestedConfig):
    """Settings of a controller that acts by twin critics.

    A controller is only as good as its critics, so they learn faster and more often than the
    paper's.
    """

    learning_rate: float = 1e-3
    """Adam's learning rate for the critics of the mixed policy."""
    target_rate: float = 0.01
    """Share of those critics that moves into their targets at each update (sigma)."""
    train_interval: int = 1
    """Transitions collected for each update of the controller (m)."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer of the critics."""
    huber: float | None = 5.0
    """The loss of an error of Q above this size grows linearly; None: never."""
    weighted: bool = False
    """Learn from rewards without what is chance in them, which two more networks learn, and count
    errors of Q by how certain their rewards are. So rare large rewards that depend on chance do not
    drown the others."""
    pessimistic: bool = True
    """The lower value of the twins counts, which keeps values from being too high. False: their
    mean counts, and in the targets one twin chooses the next action and the other one values it
    (double Q-learning). A rare success then counts for more."""
    averaged: float | None = None
    """The policy acts by a moving average of the critics over this share of the run's steps, which
    differs less from one moment to the next. Training acts by their targets, and so does the policy
    if this is None."""
    average_rate: float = 1.0
    """The share of the critics that moves into that average at each update; `averaged` sets it."""
    at_once: bool = False
    """Use the core's outputs before its update, not after it; faster for large networks."""
    core_share: float = 0.2
    """Share of the training episodes in which the core acts alone, with its own exploration."""
    noise: float = 0.1
    """In the other episodes, the share of steps in which the core acts."""
    warmup: int = 0
    """Transitions for which the core acts alone, except for a share `noise` of repeated actions,
    and the critics learn its value. Over as many again the controller takes over. Use it for a
    core that is already good, so that an untrained controller does no harm."""

    rule: ClassVar[str]
    """The name of `choice` in exported files."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "warmup")
        refuse_outside(self, 1, None, "hidden", "train_interval")
        refuse_outside(self, 0, 1, "target_rate", "core_share", "noise", "average_rate")
        if self.averaged is not None:
            refuse_outside(self, 0, 1, "averaged")
        refuse_huber(self.huber)

    def for_steps(self, steps: int) -> ValuedConfig:
        config = replace(self, core=self.core.for_steps(steps))
        if self.averaged is None:
            return config
        rate = average_rate(self.averaged, steps / self.train_interval)
        return replace(config, average_rate=rate, averaged=None)

    @property
    def choice(self) -> Choice:
        """How to act by Q."""
        raise NotImplementedError

    def reward_noise(self, spec: Spec) -> RewardNoise | None:
        """What cleans rewards and weighs errors; see `RewardNoise`. None: nothing does."""
        if not self.weighted:
            return None
        half = tuple(max(units // 2, 1) for units in self.hidden)  # a quarter of the time
        return RewardNoise(spec, half, self.learning_rate)

    def joined(self, twins: Array) -> Array:
        """(2, ...) the values of the twins -> (...) the value that counts."""
        return joined(twins, self.pessimistic)

    def joins(self, updates: Array) -> tuple[Join, Join]:
        """How targets join the twins: to choose the next action, and to value it.

        Args:
            updates: The updates so far; in double Q-learning the twins take turns.
        """
        if self.pessimistic:
            return self.joined, self.joined
        return itemgetter(updates % 2), itemgetter(1 - updates % 2)

    def explored(
        self, own: Any, core: Any, core_alone: np.ndarray, noise: Number | None = None
    ) -> Any:
        """What acts in training: the core in some episodes, else the controller with some noise.

        Args:
            own: The controller's policy.
            core: The core's.
            core_alone: (B,) booleans: in which episodes the core acts alone.
            noise: In the others, the share of steps in which the core acts; None: `self.noise`.
        """
        share = np.where(core_alone, 1.0, self.noise if noise is None else noise)[:, None]
        mixed = (1 - share) * np.exp(own.log_pi) + share * np.exp(core.log_pi)
        return own._replace(log_pi=log_probabilities(mixed))


def init_valued(
    rng: np.random.Generator, network: Network, config: ValuedConfig, noise: RewardNoise | None
) -> Critics:
    """Make twin critics, an average if the policy acts by it, and what cleans their rewards."""
    critics = init_critics(rng, network, adam(config.learning_rate), config.average_rate < 1)
    return critics if noise is None else critics._replace(noise=noise.init(rng))


def holds(
    q: Array, prev_action: np.ndarray, action: np.ndarray, margin: Number = 0.0
) -> np.ndarray:
    """1 where repeating is worth as much as an agent's action and a margin, else 0."""
    repeat, switch = (chosen(q, a, np) for a in (prev_action, action))
    return np.asarray(repeat >= switch + margin, np.float32)


def one_by_one(critics: Tree) -> tuple[Tree, ...]:
    """The twins as two networks."""
    return tuple(jax.tree.map(lambda w, i=i: w[i], critics) for i in range(2))


def averaged_policy(acting: Parameters, config: ValuedConfig) -> Parameters | None:
    """Act as `acting` says by the average of the critics, not by their targets; None: no average.

    Args:
        acting: From a state with `critics` to what acting needs.
        config: The settings of the controller.
    """

    def policy(state: Any) -> Tree:
        critics: Critics = state.critics
        return acting(state._replace(critics=critics._replace(target=critics.average)))

    return policy if config.average_rate < 1 else None


def certain(action: Array, actions: Any, xp: Any = jnp) -> Any:
    """The distribution over an action space that takes these actions."""
    return actions.distribution((1 - actions.encode(action, xp)) * np.float32(LOG_ZERO))
