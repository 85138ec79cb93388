"""A gate for each head that plans with a limit for each head: every head has a bucket of its own.

The critics have a branch for each head, as in `head_gate`, and see the tokens of all buckets before
the step. (For one list of actions they see those after it, once if the last action is repeated and
once if it is not; here there would be a case for every combination of heads.) All heads learn from
one target, r + gamma mean_d U_d(s', a'_d). What has no token is impossible, also in that target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN, Limit
from policy_inertia.actions.masks import is_forbidden
from policy_inertia.algorithms import branching_losses, losses
from policy_inertia.algorithms.controllers import limit_draws
from policy_inertia.algorithms.controllers.limit_gate import LimitGateConfig
from policy_inertia.algorithms.controllers.token_planner import TokenPlanner
from policy_inertia.algorithms.controllers.token_state import (
    Drawn,
    PlanningParams,
    PlanningState,
    Setting,
)
from policy_inertia.algorithms.controllers.valued import Join
from policy_inertia.algorithms.interface import CoreOutputs, Traits
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.networks.perceptron import Network
from policy_inertia.types import Array, Number, Transition, Tree


@dataclass(frozen=True)
class HeadLimitConfig(LimitGateConfig):
    """Settings of a gate for each head that plans with limits."""

    rule: ClassVar[str] = "head-plan"

    @property
    def traits(self) -> Traits:
        return replace(super().traits, actions="multi_discrete")

    @property
    def limit(self) -> Limit | None:
        own = super().limit
        return None if own is None else replace(own, per_head=True)

    def controller(self, spec: Spec) -> HeadPlanner:
        return HeadPlanner(self, spec)


class HeadPlanner(TokenPlanner):
    """Act by twin critics with a branch for each head, within the tokens of each head."""

    per_head = True

    def __init__(self, config: HeadLimitConfig, spec: Spec) -> None:
        if config.costs is not None:
            raise InputError(
                "costs is a table for one list of actions, and these have several heads: leave it "
                "out, a switch of a head takes one of its tokens"
            )
        super().__init__(config, spec)
        self.parts, self.sizes = self.actions.parts, np.array(self.actions.sizes)
        self.n_heads = len(self.sizes)
        extra = self.n_actions + self.n_heads * limit_draws.FEATURES
        self.value = Network(spec, config.hidden, self.n_actions, extra)
        self.noise = config.reward_noise(spec)
        self.choose = partial(branching_losses.gate_heads, parts=self.parts)
        self.residual = partial(branching_losses.branching_residual, parts=self.parts)

    def _setting(
        self, tokens: Array, rate: Number, burst: Number, xp: Any = jnp, free: int = 0
    ) -> Setting:
        """What networks see of the buckets, (B, H FEATURES), and which heads have a token, (B, H).

        Args:
            tokens: (B, H) the tokens before the step; (B,) where all buckets hold the same.
            rate: The rate, or (B, 1) rates.
            burst: The burst, or (B, 1) bursts.
            xp: The array module.
            free: Not used.
        """
        if tokens.ndim == 1:
            tokens = xp.broadcast_to(tokens[:, None], (len(tokens), self.n_heads))
        seen = limit_draws.features(tokens, rate, burst, self.full, xp)
        return Setting(seen.reshape(len(tokens), -1), (tokens >= TOKEN).astype(np.float32))

    def _values(
        self,
        critics: Tree,
        obs: Array,
        prev_action: Array,
        setting: Setting,
        xp: Any = jnp,
        log_core: Array | None = None,
        join: Join | None = None,
    ) -> Array:
        inputs, can_switch = (xp.broadcast_to(rows, (len(obs), rows.shape[-1])) for rows in setting)
        last = self.actions.encode(prev_action, xp)
        u = (join or self.config.joined)(self.value(critics, obs, (last, inputs), xp))
        # the first action of an episode costs nothing, and what a mask forces is always possible
        moves = (can_switch > 0) | (prev_action < 0)
        if self.masked and log_core is not None:
            allowed = branching_losses.allowed_previous_heads(prev_action, log_core, self.parts, xp)
            moves = moves | (allowed < 0)
        possible = (last > 0) | xp.repeat(moves, self.sizes, axis=-1)
        if self.masked and log_core is not None:
            possible = possible & ~is_forbidden(log_core)
        return xp.where(possible, u, losses.IMPOSSIBLE)

    def _cost(self, prev_action: Array, action: Array, xp: Any = np) -> Array:
        return ((action != prev_action) & (prev_action >= 0)) * np.int32(TOKEN)

    def expected(
        self, state: PlanningState, batch: Transition, core: CoreOutputs
    ) -> tuple[Array, Array]:
        config, n = self.config, len(batch.action)
        u_rate, u_burst = limit_draws.spread(state.updates, n, 2)
        rate, burst = (x[:, None] for x in self._limits(u_rate, u_burst))
        # a stored switch of a head is a transition for every level that can pay for it
        cost = self._cost(batch.prev_action, batch.action)
        u_level = limit_draws.scattered(state.updates, n, self.n_heads)
        tokens = limit_draws.draw_level(u_level, cost, burst)
        left = bucket.after(tokens, cost, rate, burst, jnp.minimum)
        log_core, last = core.next.log_pi, batch.action
        following = self._setting(left, rate, burst)
        critics = state.critics.target
        q_choosing, q_next = (
            self._values(critics, batch.next_obs, last, following, jnp, log_core, join)
            for join in config.joins(state.updates)
        )
        action_next = self.choose(q_choosing, log_core, last)[1]
        if config.warmup:  # evaluate the core before improving on it
            watching = state.updates < config.warmup // config.train_interval
            core_next = branching_losses.likeliest_heads(log_core, self.parts)
            worth = branching_losses.chosen_heads(q_next, core_next, self.parts)
            core_next = jnp.where(worth > losses.IMPOSSIBLE, core_next, last)
            action_next = jnp.where(watching, core_next, action_next)
        hot = self.actions.encode(batch.prev_action, jnp)
        now = jnp.concatenate([hot, self._setting(tokens, rate, burst).inputs], -1)
        return now, self.state_value(q_next, action_next)

    def state_value(self, u: Array, action: Array) -> Array:
        return branching_losses.chosen_heads(u, action, self.parts).mean(-1)

    def within(self, params: PlanningParams, limit: Limit, tokens: np.ndarray) -> PlanningParams:
        rate, burst = limit.rate_units, limit.burst_units
        setting = self._setting(np.minimum(tokens, burst), rate, burst, np)
        return PlanningParams(params.critics, setting)

    def hold_probability(
        self, params: Tree, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        raise InputError("a gate for each head cannot decide for an agent: use the policy itself")

    def draw(self, step: int, rng: np.random.Generator) -> np.ndarray:
        drawn = super().draw(step, rng)
        return np.concatenate([drawn, np.repeat(drawn[-1:], self.n_heads - 1)])

    @staticmethod
    def columns(drawn: np.ndarray) -> Drawn:
        """The numbers of training episodes, (B, 3 + H), by name."""
        whole = drawn[:, 1:].astype(np.int64)
        return Drawn(drawn[:, 0], whole[:, :1], whole[:, 1:2], whole[:, 2:])
