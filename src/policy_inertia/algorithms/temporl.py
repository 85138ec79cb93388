"""TempoRL: DQN chooses an action, and a second network for how many steps to hold it.

A. Biedenkapp, R. Rajan, F. Hutter, M. Lindauer: "TempoRL: Learning When to Act", ICML 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.discrete import Categorical, Discrete
from policy_inertia.algorithms import interface, losses
from policy_inertia.algorithms.dqn import DQNConfig, DQNState, dqn, next_value
from policy_inertia.algorithms.learning import adam, descend
from policy_inertia.algorithms.value_scale import divisor, known_size, times
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.networks.perceptron import Network, one_hot
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class TempoRLConfig(DQNConfig):
    """Settings of TempoRL: those of DQN, for both networks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest_hold != 1:
            raise InputError(
                f"longest_hold is {self.longest_hold}: TempoRL draws how long it holds a random "
                "action from its own skips, so leave it at 1"
            )

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values", deterministic=True, skips=True)

    def build(self, spec: Spec) -> interface.Algorithm:
        return temporl(self, spec)


class TempoRLState(NamedTuple):
    behaviour: DQNState
    skips: Tree  # in the unit of the behaviour's values
    optimiser: Tree


class TempoRLParams(NamedTuple):
    behaviour: Tree
    skips: Tree


def best_choice(q: Array, skip_q: Array, xp: Any = jnp) -> Array:
    """The greedy choice of TempoRL: a = argmax Q(s, .), then j = argmax Q_skip(s, a, .).

    Args:
        q: (B, A) values of actions.
        skip_q: (B, A, J) values of holding an action for each of J numbers of steps.
        xp: The array module.

    Returns:
        (B,) the choices a J + j. Of equal values the first is taken.
    """
    action = q.argmax(-1)
    best_skips = skip_q.argmax(-1)  # (B, A)
    return action * skip_q.shape[-1] + xp.take_along_axis(best_skips, action[:, None], 1)[:, 0]


@dataclass(frozen=True)
class TempoRLBehaviour(interface.Behaviour):
    """Act with two draws of epsilon: one for the action, one for how long it is held."""

    values: Callable[[Tree, np.ndarray], tuple[np.ndarray, np.ndarray]] = field(kw_only=True)
    """Give Q (B, A) and Q_skip (B, A, J)."""

    def act(
        self,
        params: Tree,
        obs: np.ndarray,
        prev_action: np.ndarray,
        drawn: np.ndarray,
        updates: int,
        rng: np.random.Generator,
        held: np.ndarray,
    ) -> np.ndarray:
        """Choose one action and one number of steps for each env."""
        q, skip_q = self.values(params, obs)
        n, n_actions, n_skips = skip_q.shape
        epsilon = self.epsilon(updates)
        action = np.where(rng.random(n) < epsilon, rng.integers(0, n_actions, n), q.argmax(1))
        best_skip = skip_q[np.arange(n), action].argmax(1)
        skip = np.where(rng.random(n) < epsilon, rng.integers(0, n_skips, n), best_skip)
        return action * n_skips + skip


def temporl(config: TempoRLConfig, spec: Spec) -> interface.Algorithm:
    """TempoRL. A minibatch is single steps, then as many skips; see `replay/skips.py`."""
    n_skips = len(spec.repeats)
    n_actions = spec.actions.width // n_skips
    step_spec = spec._replace(actions=Discrete(n_actions), repeats=(1,))
    core = dqn(config, step_spec)
    optimiser = adam(config.learning_rate)
    network = Network(step_spec, config.hidden, n_actions)
    skip_network = Network(step_spec, config.hidden, n_skips, n_actions)

    def init(rng: np.random.Generator) -> TempoRLState:
        behaviour = core.init(rng)
        skips = skip_network.init(rng)
        return TempoRLState(behaviour, skips, optimiser.init(skips))

    def update(state: TempoRLState, batch: Transition, due: Array) -> interface.Updated:
        half = len(batch.action) // 2
        steps, skips = (
            Transition(*(x[rows] for x in batch)) for rows in (np.s_[:half], np.s_[half:])
        )
        own: DQNState = state.behaviour
        unit: Number = 1.0
        factor: Number = 1.0
        # both networks learn from the behaviour before this update
        value_after = next_value(config, network, own, skips.next_obs)
        updated = core.update(own, steps._replace(action=steps.action // n_skips), due)
        if own.size is not None:
            unit = divisor(known_size(own.size, steps.reward))
            factor = unit / divisor(updated.state.size)
        target = losses.bellman_target(skips.reward / unit, skips.discount, value_after)

        def loss(params: Tree) -> tuple[Array, None]:
            q = skip_network(params, skips.obs, one_hot(skips.action // n_skips, n_actions))
            return losses.bellman_residual(q, skips.action % n_skips, target, config.huber), None

        params, optimiser_state, skip_loss, _ = descend(
            optimiser, loss, state.skips, state.optimiser
        )
        new = TempoRLState(updated.state, times(params, factor), optimiser_state)
        return interface.Updated(new, {**updated.losses, "skip_loss": skip_loss})

    def acting(state: TempoRLState) -> TempoRLParams:
        size = state.behaviour.size
        skips = state.skips if size is None else times(state.skips, divisor(size))
        return TempoRLParams(core.acting(state.behaviour), skips)

    def values(params: TempoRLParams, obs: Array, xp: Any = np) -> tuple[Any, Any]:
        """Q (B, A), and Q_skip (B, A, J): each row is asked once for each action."""
        q = network(params.behaviour, obs, xp=xp)
        rows = xp.repeat(obs, n_actions, axis=0)
        actions = xp.tile(xp.eye(n_actions, dtype=np.float32), (len(obs), 1))
        skip_q = skip_network(params.skips, rows, actions, xp)
        return q, skip_q.reshape(len(obs), n_actions, n_skips)

    def apply(
        params: TempoRLParams, obs: Array, prev_action: Array, xp: Any = jnp
    ) -> interface.Acting:
        q, skip_q = values(params, obs, xp)
        choice = best_choice(q, skip_q, xp)
        log_pi = losses.log_certain(choice, n_actions * n_skips, xp)
        return interface.plain(Categorical(log_pi), skip_q.reshape(len(obs), n_actions * n_skips))

    policy = interface.sampling(apply, spec.actions).policy
    behaviour = TempoRLBehaviour(
        policy, spec.actions, epsilon=core.behaviour.epsilon, values=values
    )

    def averaged(state: TempoRLState) -> TempoRLParams:
        assert core.policy is not None
        return acting(state)._replace(behaviour=core.policy(state.behaviour))

    return interface.Algorithm(
        init,
        update,
        acting,
        apply,
        (config.train_interval,),
        behaviour,
        policy=None if core.policy is None else averaged,
    )
