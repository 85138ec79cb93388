"""A controller that plans with a limit on switching, for all limits at once.

The critics learn U(s, a_prev, a, limit, tokens): the value of an action, with the tokens that are
left after it. What has no token is impossible, in acting and in what the critics expect.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN, Limit, units
from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers import limit_draws
from policy_inertia.algorithms.controllers.dial import free_choice
from policy_inertia.algorithms.controllers.token_costs import TokenCosts
from policy_inertia.algorithms.controllers.token_state import (
    PlanningParams,
    PlanningState,
    Setting,
    columns,
    joined,
    permitted,
)
from policy_inertia.algorithms.controllers.valued import (
    Choice,
    Join,
    ValuedConfig,
    averaged_policy,
    certain,
    holds,
    init_valued,
    one_by_one,
)
from policy_inertia.algorithms.controllers.warm_up import WATCHED, WarmUp
from policy_inertia.algorithms.interface import (
    Acting,
    Algorithm,
    CoreOutputs,
    Limited,
    Parameters,
    Traits,
)
from policy_inertia.algorithms.learning import adam
from policy_inertia.algorithms.nested import Controller, ControllerParts, NestedParams, nested
from policy_inertia.algorithms.value_scale import (
    divisor,
    known_size,
    scaled_evaluation,
    times,
)
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError, refuse_outside
from policy_inertia.networks.perceptron import Network, one_hot
from policy_inertia.types import Array, Number, Transition, Tree

MOST_TOKENS = 1_000  # in a bucket that is learned: compiled code counts in 32 bits
REMEMBERED = 4_096  # levels of tokens for which a policy keeps what its networks see


@dataclass(frozen=True)
class LimitConfig(ValuedConfig):
    """Settings of a controller that plans with a limit on switching."""

    largest_burst: float = 4.0
    """The largest bucket that is learned, in tokens."""
    rate: float | None = None
    """Learn for one limit alone: this rate, with the largest burst. None learns all rates from 0 to
    1 (no limit), and all bursts up to the largest, in one run."""
    smallest_rate: float = 0.0
    """The smallest rate that is learned. If nobody will ask for less, give it: within limits that
    are too strict for a task all actions are bad, and critics that learn those too know less of
    the others. A smaller rate is kept all the same."""
    noise_per_token: float | None = None
    """In training episodes within a limit, the core acts in at most so many steps for each token
    that the limit gives, and in one step of 200 beside. So its actions do not use up the tokens.
    None: a share `noise`."""
    costs: tuple[float, ...] | None = None
    """How many tokens a switch from action i to action j takes: a table, row by row, with zeros on
    its diagonal. None: every switch takes 1."""

    rule: ClassVar[str] = "plan"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_outside(self, 1, MOST_TOKENS, "largest_burst")
        if self.rate is not None:
            refuse_outside(self, 0, 1, "rate")
        refuse_outside(self, 0, 0.9, "smallest_rate")
        if self.rate is not None and self.rate < self.smallest_rate:
            raise InputError(
                f"rate is {self.rate:g} and smallest_rate is {self.smallest_rate:g}: the one rate "
                "that is learned must not be below the smallest, so leave smallest_rate out"
            )
        if self.noise_per_token is not None:
            refuse_outside(self, 0, None, "noise_per_token")

    @property
    def traits(self) -> Traits:
        return Traits(
            scores="values",
            deterministic=True,
            nested=True,
            frozen=self.core.traits.frozen,
            limit=self.rate is None,
        )

    @property
    def limit(self) -> Limit | None:
        return None if self.rate is None else Limit(self.rate, self.largest_burst)

    @property
    def choice(self) -> Choice:
        return free_choice

    def parts(self, params: PlanningParams) -> ControllerParts:
        numbers = {"largest_burst": self.largest_burst}
        twins, mean = one_by_one(params.critics), not self.pessimistic
        return ControllerParts(self.rule, twins, numbers, self.costs, mean)

    def controller(self, spec: Spec) -> Controller:
        return TokenPlanner(self, spec)

    def build(self, spec: Spec) -> Algorithm:
        controller: Any = self.controller(spec)
        algorithm = nested(self.core.build(spec), controller, spec)

        def within(params: NestedParams, limit: Limit, tokens: np.ndarray) -> NestedParams:
            return NestedParams(params.core, controller.within(params.controller, limit, tokens))

        parts = {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}
        behaviour = replace(algorithm.behaviour, permit=controller.permit, track=controller.track)
        return Limited(
            **(parts | {"behaviour": behaviour}),
            within=within,
            largest_burst=self.largest_burst,
            costs=controller.costs and controller.costs.table,
            per_head=controller.per_head,
        )


class TokenPlanner:
    """Act by twin critics of the value with the tokens that are left; `config.choice` says how."""

    per_head = False  # `head_planner` has a bucket for each head
    residual: Any = staticmethod(losses.bellman_residual)

    def __init__(self, config: LimitConfig, spec: Spec) -> None:
        self.config, self.n_actions = config, spec.actions.width
        self.actions: Any = spec.actions
        self.choose, self.masked = config.choice, spec.masked
        self.interval, self.at_once = config.train_interval, config.at_once
        self.full: int = units(config.largest_burst)
        self.costs = TokenCosts.of(config.costs, self.n_actions)
        self.unit = TOKEN if self.costs is None else self.costs.unit
        self.n_levels = 2 if self.costs is None else len(self.costs.levels)
        if self.full < self.unit:
            raise InputError(
                f"a switch costs up to {self.unit / TOKEN:g} tokens and largest_burst is "
                f"{config.largest_burst:g}: give a larger one, or it would never be possible"
            )
        extra = self.n_actions + limit_draws.FEATURES
        self.value = Network(spec, config.hidden, self.n_actions, extra)
        self.optimiser = adam(config.learning_rate)
        self.noise = config.reward_noise(spec)
        self.warm_up = WarmUp(config.warmup, config.noise, spec.actions)
        self._remembered = functools.lru_cache(REMEMBERED)(self._setting_of_one)

    def init(self, rng: np.random.Generator) -> PlanningState:
        critics = init_valued(rng, self.value, self.config, self.noise)
        return PlanningState(critics, jnp.zeros(()), jnp.uint32(0))

    # --- limits and values ----------------------------------------------------------------------

    def _limits(self, u_rate: Array, u_burst: Array, xp: Any = jnp) -> tuple[Array, Array]:
        """Rates and bursts to learn, from numbers that are uniform in [0, 1)."""
        limit, smallest = self.config.limit, self.config.smallest_rate
        return limit_draws.draw_limits(limit, u_rate, u_burst, self.full, xp, self.unit, smallest)

    def _setting(
        self, tokens: Array, rate: Number, burst: Number, xp: Any = jnp, free: int = 0
    ) -> Setting:
        """What networks see after repeated and after new actions.

        Args:
            tokens: (B,) the tokens before the step.
            rate: The rates.
            burst: The bursts.
            xp: The array module.
            free: How many of the first rows are known to have no limit.
        """
        levels = (0, TOKEN) if self.costs is None else self.costs.levels
        left = xp.stack([bucket.after(tokens, cost, rate, burst, xp.minimum) for cost in levels])
        if self.masked:  # a forced switch takes what is left
            left = xp.maximum(left, 0)
        seen = limit_draws.features(left, rate, burst, self.full, xp, self.unit)
        if self.costs is not None:
            can_pay = (tokens[:, None] >= xp.asarray(levels)).astype(np.float32)
            return Setting(seen.reshape(-1, limit_draws.FEATURES), can_pay)
        can_switch = (tokens >= TOKEN).astype(np.float32)[:, None]
        return Setting(xp.concatenate([seen[0], seen[1, free:]]), can_switch)

    def _setting_of_one(self, rate: int, burst: int, tokens: int) -> Setting:
        return self._setting(np.array([tokens]), rate, burst, np)

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
        """Q(s, a_prev, .) with these tokens, by both twins.

        `log_core` says what an action mask forbids. It may force a switch without a token. `join`
        makes one value of the twins; None: the one that counts.
        """
        inputs, can_switch = setting
        log_core = log_core if self.masked else None
        join = join or self.config.joined
        n = len(obs)
        last = one_hot(prev_action, self.n_actions, xp)
        if self.costs is not None:
            u = join(self._costly_values(critics, obs, last, inputs, xp))
            q, possible = self.costs.chosen(u, can_switch, prev_action, xp)
            possible = permitted(possible, prev_action, log_core, xp)
            return xp.where(possible, q, losses.IMPOSSIBLE)
        if len(inputs) == 1 < n:
            inputs = inputs + xp.zeros((n, 1), np.float32)
        u = join(self.value.once_or_twice(critics, obs, last, inputs, xp))
        if xp is np and n == 1 and not self.masked:  # saves microseconds
            return joined(u, int(prev_action[0]), bool(can_switch[0, 0]))
        keep, switch = u[:n], u[n:]
        if len(switch) < n:
            switch = xp.concatenate([keep[: n - len(switch)], switch])
        # the first action of an episode costs nothing
        keeps = (last > 0) | (prev_action[:, None] < 0)
        possible = permitted(keeps | (can_switch > 0), prev_action, log_core, xp)
        return xp.where(possible, xp.where(keeps, keep, switch), losses.IMPOSSIBLE)

    def _costly_values(
        self, critics: Tree, obs: Array, last: Array, inputs: Array, xp: Any
    ) -> Array:
        """(2, K, B, A) the values by both twins after each level of costs."""
        n, features = len(obs), limit_draws.FEATURES
        seen = inputs.reshape(-1, inputs.shape[0] // self.n_levels, features)
        seen = xp.broadcast_to(seen, (self.n_levels, n, features)).reshape(-1, features)
        obs, last = (xp.concatenate([x] * self.n_levels) for x in (obs, last))
        u = self.value(critics, obs, (last, seen), xp)
        return u.reshape(2, self.n_levels, n, -1)

    def _cost(self, prev_action: Array, action: Array, xp: Any = np) -> Array:
        """What moves take out of the bucket."""
        if self.costs is None:
            return self.actions.cost(prev_action, action)
        return self.costs.cost(prev_action, action, xp)

    # --- learning -------------------------------------------------------------------------------

    def expected(
        self, state: PlanningState, batch: Transition, core: CoreOutputs
    ) -> tuple[Array, Array]:
        """What the critics see beside the observations, and (B,) the values of the next ones."""
        config, n = self.config, len(batch.action)
        u_rate, u_burst, u_level = limit_draws.spread(state.updates, n)
        # transitions are drawn at random, so the ones without a limit may be the first
        free = round(limit_draws.FREE * n) if config.limit is None else 0
        rate, burst = self._limits(limit_draws.after_free(u_rate, free), u_burst)
        # a stored switch is a transition for every level that can pay for it
        cost = self._cost(batch.prev_action, batch.action, jnp)
        tokens = limit_draws.draw_level(u_level, cost, burst)
        left = bucket.after(tokens, cost, rate, burst, jnp.minimum)
        setting = self._setting(left, rate, burst, free=free)
        critics, log_core = state.critics.target, core.next.log_pi
        q_choosing, q_next = (
            self._values(critics, batch.next_obs, batch.action, setting, jnp, log_core, join)
            for join in config.joins(state.updates)
        )
        action_next = self.choose(q_choosing, log_core, batch.action)[1]
        if config.warmup:  # evaluate the core before improving on it
            watching = state.updates < config.warmup // config.train_interval
            core_next = log_core.argmax(-1)
            possible = losses.chosen(q_next, core_next) > losses.IMPOSSIBLE
            core_next = jnp.where(possible, core_next, batch.action)
            action_next = jnp.where(watching, core_next, action_next)
        seen = limit_draws.features(left, rate, burst, self.full, unit=self.unit)
        now = jnp.concatenate([one_hot(batch.prev_action, self.n_actions), seen], -1)
        return now, losses.chosen(q_next, action_next)

    def update(
        self, state: PlanningState, batch: Transition, core: CoreOutputs
    ) -> tuple[PlanningState, dict[str, Array]]:
        config, size = self.config, known_size(state.size, batch.reward)
        now, next_value = self.expected(state, batch, core)
        critics, size, critic_loss = scaled_evaluation(
            state.critics,
            size,
            self.value,
            self.optimiser,
            batch._replace(reward=batch.reward / divisor(size)),
            now,
            next_value,
            config.target_rate,
            config.huber,
            config.at_once,
            self.residual,
            config.average_rate,
            self.noise,
        )
        return PlanningState(critics, size, state.updates + 1), {"mixed_critic_loss": critic_loss}

    # --- acting ---------------------------------------------------------------------------------

    def acting(self, state: PlanningState) -> PlanningParams:
        # the targets: averages over many updates, which jitter less
        setting = self._setting(jnp.full(1, self.full), self.unit, self.full, free=1)
        return PlanningParams(times(state.critics.target, divisor(state.size)), setting)

    @property
    def policy(self) -> Parameters | None:
        return averaged_policy(self.acting, self.config)

    def within(self, params: PlanningParams, limit: Limit, tokens: np.ndarray) -> PlanningParams:
        """Set the limit, and the tokens of each row; none has more than the bucket holds."""
        rate, burst = limit.rate_units, limit.burst_units
        if len(tokens) == 1:  # saves microseconds
            setting = self._remembered(rate, burst, min(int(tokens[0]), burst))
        else:
            setting = self._setting(np.minimum(tokens, burst), rate, burst, np)
        return PlanningParams(params.critics, setting)

    def apply(
        self,
        params: PlanningParams,
        obs: Array,
        prev_action: Array,
        core: Acting,
        xp: Any = jnp,
    ) -> Acting:
        log_core = core.policy.log_pi
        q = self._values(params.critics, obs, prev_action, params.setting, xp, log_core)
        mu, action = self.choose(q, log_core, prev_action, 0.0, xp)
        return Acting(certain(action, self.actions, xp), core.policy, mu, q)

    def hold_probability(
        self, params: PlanningParams, obs: np.ndarray, prev_action: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        q = self._values(params.critics, obs, prev_action, params.setting, np)
        return holds(q, prev_action, action)

    # --- training episodes ----------------------------------------------------------------------

    def draw(self, step: int, rng: np.random.Generator) -> np.ndarray:
        kind = WATCHED if self.warm_up.watches(step, rng) else rng.random()
        rate, burst = self._limits(rng.random(1), rng.random(1), np)
        return np.array([kind, rate[0], burst[0], burst[0]], float)

    columns = staticmethod(columns)

    def _limited(self, kind: np.ndarray) -> np.ndarray:
        """In which episodes the controller acts, within a limit."""
        return kind >= self.config.core_share

    def permit(self, action: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Repeat the last action where there is no token for another one."""
        kind, _, _, tokens = self.columns(drawn)
        stuck = tokens < self._cost(prev_action, action)
        return np.where(stuck.T & self._limited(kind), prev_action.T, action.T).T

    def track(self, drawn: np.ndarray, prev_action: np.ndarray, action: np.ndarray) -> np.ndarray:
        """The tokens after a step; never below 0 in episodes of the core, which has no limit."""
        kind, rate, burst, tokens = self.columns(drawn)
        cost = self._cost(prev_action, action)
        left = np.maximum(bucket.after(tokens, cost, rate, burst, np.minimum), 0)
        return np.column_stack([kind, rate, burst, left])

    def explore(
        self, params: PlanningParams, obs: Array, prev: np.ndarray, core: Acting, drawn: np.ndarray
    ) -> Any:
        """In a share of the episodes the core alone, else the controller within a limit."""
        kind, rate, burst, tokens = self.columns(drawn)
        params = params._replace(setting=self._setting(tokens, rate, burst, np))
        own = self.apply(params, obs, prev, core, np).policy
        config = self.config
        noise = limit_draws.noise(rate / self.unit, config.noise, config.noise_per_token)
        policy = config.explored(own, core.policy, ~self._limited(kind), noise)
        return self.warm_up.policy(policy, core.policy, prev, kind)
