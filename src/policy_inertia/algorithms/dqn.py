"""Vanilla deep Q-learning: experience replay and a hard target network, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import numpy as jnp

from policy_inertia.actions.discrete import Categorical
from policy_inertia.algorithms import interface, losses
from policy_inertia.algorithms.learning import adam, average_rate, descend, updates_in
from policy_inertia.algorithms.value_scale import divisor, known_size, next_size, times
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import refuse_huber, refuse_outside
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Transition, Tree


@dataclass(frozen=True)
class DQNConfig(interface.AlgorithmConfig):
    """Settings of DQN; the defaults are the paper's for Highway."""

    learning_rate: float = 3e-4
    """Adam's learning rate."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer."""
    train_interval: int = 2
    """Transitions collected for each update (the paper's m_core)."""
    target_period: int = 10_000
    """Updates between two copies of the network into its target."""
    epsilon_decay: float = 5e-6
    """Decrease of epsilon at each update, from 1; try 1e-4 for short runs."""
    epsilon_final: float = 0.1
    """Where epsilon stays."""
    exploration: float | None = None
    """The share of the run's steps over which epsilon falls. It counts unless another epsilon_decay
    than the paper's is given. None: epsilon falls by epsilon_decay."""
    longest_hold: int = 1
    """Random actions are held for 1 to so many steps, long holds being rare; epsilon stays the
    share of random steps. Such exploration goes further: a car in a valley does not get out of it
    by shaking."""
    averaged: float | None = None
    """The policy is a moving average of the network's weights over this share of the run's steps:
    single networks of DQN differ much from one moment to the next. Training acts by the network
    itself. None: the policy is the last network."""
    average_rate: float = 1.0
    """The share of the network that moves into that average at each update; `averaged` sets it."""
    double: bool = False
    """Let the network itself choose the next action whose value its target gives (double DQN):
    values are then less often too high."""
    huber: float | None = None
    """The loss of an error of Q above this size grows linearly, not as its square; None: never, as
    in the paper. Smaller is more stable but gives rare crashes less weight."""
    scaled: bool = False
    """Learn Q in a unit that follows the task, so that the size of the rewards does not matter;
    `huber` is in that unit then. False: as in the paper."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "learning_rate", "epsilon_decay")
        refuse_outside(self, 1, None, "hidden", "train_interval", "target_period", "longest_hold")
        refuse_outside(self, 0, 1, "epsilon_final", "average_rate")
        for name in ("exploration", "averaged"):
            if getattr(self, name) is not None:
                refuse_outside(self, 0, 1, name)
        refuse_huber(self.huber)

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values", deterministic=True)

    def for_steps(self, steps: int) -> DQNConfig:
        config, updates = self, steps / self.train_interval
        if self.averaged is not None:
            rate = average_rate(self.averaged, updates)
            config = replace(config, average_rate=rate, averaged=None)
        if self.exploration is None or self.epsilon_decay != type(self).epsilon_decay:
            return config
        decay = (1 - self.epsilon_final) / updates_in(self.exploration, updates)
        return replace(config, epsilon_decay=decay, exploration=None)

    def build(self, spec: Spec) -> interface.Algorithm:
        return dqn(self, spec)


class DQNState(NamedTuple):
    critic: Tree
    target: Tree
    optimiser: Tree
    updates: Array
    size: Array | None  # the unit of the networks' values; None: 1
    average: Tree | None  # of the critics so far; None: the policy is the critic


class QForm(NamedTuple):
    """How the outputs of a network become Q-values and a policy."""

    outputs: int
    q: Callable[[Array], Array]
    """From the outputs to Q-values."""
    value: Callable[[Array, Array], Array]
    """V from Q-values and those that choose the action; for plain DQN see `losses`."""
    residual: Callable[[Array, Array, Array, float | None], Array]
    """The loss of Q-values, actions and targets."""
    policy: Callable[[Array, Any], interface.OverActions]
    """The greedy policy, from Q-values and the array module."""
    acting: Callable[[Tree], Tree]
    """The network whose outputs are the Q-values themselves."""


def _itself(value: Any) -> Any:
    return value


def _value(q: Array, chooser: Array) -> Array:
    return losses.greedy_value(q) if chooser is q else losses.double_value(q, chooser)


def _greedy(q: Array, xp: Any) -> Categorical:
    return Categorical(losses.log_greedy(q, xp))


def plain_form(spec: Spec) -> QForm:
    """One output for each action of a list."""
    width = spec.actions.width
    return QForm(width, _itself, _value, losses.bellman_residual, _greedy, _itself)


def next_value(
    config: DQNConfig,
    network: Network,
    state: DQNState,
    next_obs: Array,
    form: QForm | None = None,
) -> Array:
    """V of the next observations, by the target network, in the unit of its values."""
    form = form or plain_form(network.spec)
    next_q = form.q(network(state.target, next_obs))
    chooser = form.q(network(state.critic, next_obs)) if config.double else next_q
    return form.value(next_q, chooser)


def dqn(config: DQNConfig, spec: Spec, form: QForm | None = None) -> interface.Algorithm:
    """DQN, alone or as the core of a nested algorithm (its policy is then the greedy one).

    Args:
        config: The settings.
        spec: The sizes of the task.
        form: How outputs become Q-values and a policy; by default one output for each action.
    """
    form = form or plain_form(spec)
    optimiser = adam(config.learning_rate)
    network = Network(spec, config.hidden, form.outputs)

    def init(rng: np.random.Generator) -> DQNState:
        critic = network.init(rng)
        # the target is a copy: donated states must not hold one buffer twice
        target = jax.tree.map(jnp.copy, critic)
        size = jnp.float32(0) if config.scaled else None
        average = jax.tree.map(jnp.copy, critic) if config.average_rate < 1 else None
        return DQNState(critic, target, optimiser.init(critic), jnp.int32(0), size, average)

    def update(state: DQNState, batch: Transition, due: Array) -> interface.Updated:
        del due  # one part: whenever this is called, it is due
        size, reward = state.size, batch.reward
        if size is not None:
            size = known_size(size, reward)
            reward = reward / divisor(size)
        value_after = next_value(config, network, state, batch.next_obs, form)
        target = losses.bellman_target(reward, batch.discount, value_after)

        def loss(critic: Tree) -> tuple[Array, None]:
            q = form.q(network(critic, batch.obs))
            return form.residual(q, batch.action, target, config.huber), None

        critic, optimiser_state, value, _ = descend(optimiser, loss, state.critic, state.optimiser)
        updates = state.updates + 1
        due_now = updates % config.target_period == 0
        new_target = jax.tree.map(lambda t, c: jnp.where(due_now, c, t), state.target, critic)
        average = state.average
        if average is not None:
            average = optax.incremental_update(critic, average, config.average_rate)
        if size is not None:
            size, factor = next_size(size, target)
            critic, new_target = times(critic, factor), times(new_target, factor)
            average = None if average is None else times(average, factor)
        return interface.Updated(
            DQNState(critic, new_target, optimiser_state, updates, size, average), {"loss": value}
        )

    def acting(state: DQNState) -> Tree:
        critic = state.critic
        return form.acting(critic if state.size is None else times(critic, divisor(state.size)))

    def policy(state: DQNState) -> Tree:
        return acting(state._replace(critic=state.average))

    def apply(params: Tree, obs: Array, prev_action: Array, xp: Any = jnp) -> interface.Acting:
        q = network(params, obs, xp=xp)
        return interface.plain(form.policy(q, xp), q)

    def epsilon(updates: int) -> float:
        return max(config.epsilon_final, 1.0 - config.epsilon_decay * updates)

    return interface.Algorithm(
        init,
        update,
        acting,
        apply,
        (config.train_interval,),
        replace(
            interface.sampling(apply, spec.actions),
            epsilon=epsilon,
            longest_hold=config.longest_hold,
        ),
        policy=policy if config.average_rate < 1 else None,
    )
