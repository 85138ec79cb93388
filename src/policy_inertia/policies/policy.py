"""What acts: a trained policy on the host, in Stable-Baselines3's recurrent convention."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.algorithms.interface import Acting, AlgorithmConfig, Dial, Limited, Nested
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.adjustable import adjustable_of
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.filtered import Filtered
from policy_inertia.policies.filters import filters_of, planned_rules
from policy_inertia.policies.head_filters import Threshold
from policy_inertia.policies.inputs import one_or_batch, previous_rows
from policy_inertia.policies.mean_action import mean_core
from policy_inertia.policies.memory import PREVIOUS_ACTION, State, handed_over, memory_of
from policy_inertia.policies.modes import in_mode
from policy_inertia.policies.policy_file import (
    CORE,
    PolicyParts,
    choice_spec,
    read_policy,
    whole_config,
    write_policy,
)
from policy_inertia.policies.token_bucket import TOKENS
from policy_inertia.policies.trained import find_trained
from policy_inertia.types import Number, Tree


class Policy(Filtered):
    """A policy over (observation, previous action), ready to act.

    Load one with `Policy.load(path)`. A run folder holds `policy.safetensors` (the last policy) and
    `best.safetensors` (the policy of the best evaluation).
    """

    def __init__(
        self,
        method: str,
        config: AlgorithmConfig,
        spaces: Spaces,
        params: Tree,
        repeats: tuple[int, ...] = (1,),
        hysteresis: Threshold | None = None,
        task: str = "",
        env_kwargs: dict[str, Any] | None = None,
        calibration: Calibration | None = None,
        limit: Limit | MovementLimit | None = None,
        switching: Switching | None = None,
    ) -> None:
        self.method, self.config, self.spaces, self.params = method, config, spaces, params
        self.repeats, self.task, self.env_kwargs = repeats, task, env_kwargs or {}
        self.hysteresis, self.calibration = hysteresis, calibration
        self.limit: Any = limit
        self.traits = config.traits
        self.adjustable = adjustable_of(self.traits)
        self.algorithm = config.build(choice_spec(spaces, repeats, self.traits))
        self.switching = planned_rules(method, self.algorithm, limit, switching)
        self.filters = filters_of(
            method, spaces, repeats, hysteresis, limit, self.traits.frozen, self.switching
        )
        self.memory = memory_of(spaces.actions, self.filters, spaces.remembered)
        self._rng = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Make the actions that are sampled from now on reproducible."""
        self._rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: ArrayLike | Mapping[str, ArrayLike],
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, State]:
        """Choose actions for one observation or a batch, as SB3's recurrent policies do.

        Args:
            observation: One observation, or a batch of them.
            state: The state that the last call returned; None at the start.
            episode_start: Which envs start a new episode.
            deterministic: Take the most probable action instead of sampling one.
            action_masks: Which actions are allowed, for a core that was trained with masks.

        Returns:
            The actions, as the env counts them, and the state for the next call.
        """
        rows, single = self._rows(observation, action_masks)
        state = self.memory.at(state, len(rows), episode_start)
        obs, fields = self.spaces.encode_with(rows, state, action_masks)
        acting = self.acting(obs, state[PREVIOUS_ACTION], self.tokens(state))
        action = acting.policy.mode() if deterministic else acting.policy.sample(self._rng)
        for rule in self.filters:
            action, own = rule.step(action, acting.scores, state)
            fields |= own
        fields[PREVIOUS_ACTION] = action
        action = self.spaces.actions.to_env(action)
        return (action[0] if single else action), fields

    def reset_to(self, action: ArrayLike) -> State:
        """The state after somebody else has taken a continuous action; see `ContinuousCore`."""
        return handed_over(self.memory, self.spaces.actions, action)

    def tokens(self, state: State) -> np.ndarray | None:
        """The tokens of a limit on switching in a state, in millionths; None without one."""
        return None if self.limit is None else state.get(TOKENS)

    def acting(
        self, obs: np.ndarray, prev_action: np.ndarray, tokens: np.ndarray | None = None
    ) -> Acting:
        """The policy's outputs for a batch of encoded observations.

        Args:
            obs: Encoded observations.
            prev_action: The previous actions.
            tokens: The tokens of each env, if there is a limit; None for a full bucket.
        """
        return self.algorithm.apply(self.params_with(tokens), obs, prev_action, np)

    def params_with(self, tokens: np.ndarray | None) -> Tree:
        """The parameters, set to the tokens that are left if the method plans with a limit."""
        if self.limit is None or not isinstance(self.algorithm, Limited):
            return self.params
        if tokens is None:
            tokens = np.array([self.limit.burst_units])
        return self.algorithm.within(self.params, self.limit, tokens)

    def hold_probability(
        self,
        obs: np.ndarray,
        prev_action: np.ndarray,
        action: np.ndarray,
        tokens: np.ndarray | None = None,
    ) -> np.ndarray:
        """The probability that the controller repeats `prev_action` where an agent wants `action`.

        Args:
            obs: Observations from `spaces.encode_for_networks`: the core is not called.
            prev_action: The previous actions.
            action: The agent's actions.
            tokens: As in `acting`.
        """
        assert isinstance(self.algorithm, Nested), "only a nested policy has a controller"
        params = self.params_with(tokens)
        return self.algorithm.hold_probability(params, obs, prev_action, action)

    def probabilities(
        self,
        observation: ArrayLike,
        prev_action: ArrayLike = -1,
        tokens: np.ndarray | None = None,
        action_masks: Any = None,
    ) -> np.ndarray:
        """pi(.|s, a_prev), Equation (mixed_policy); `prev_action` counts from 0, -1 means none.

        For a method that also chooses how long to hold, this is the marginal over its actions.
        Filters (hysteresis, a limit) act on these probabilities and are no part of them; `tokens`
        is for methods that plan with a limit (see `acting`).
        """
        acting, single = self._query(observation, prev_action, tokens, action_masks)
        pi = self._marginal(acting.policy)
        return pi[0] if single else pi

    def core_probabilities(self, observation: ArrayLike, action_masks: Any = None) -> np.ndarray:
        """pi_core(.|s): what the core alone would do; the same policy where nothing is nested."""
        acting, single = self._query(observation, -1, masks=action_masks)
        pi = self._marginal(acting.core)
        return pi[0] if single else pi

    def _marginal(self, policy: Any) -> np.ndarray:
        """Sum probabilities over the numbers of steps to hold an action; raise for Box actions."""
        shape = (-1, self.spaces.discrete.n, len(self.repeats))
        return np.exp(policy.log_pi).reshape(shape).sum(2)

    def inertia(
        self,
        observation: ArrayLike,
        prev_action: ArrayLike = -1,
        tokens: np.ndarray | None = None,
        action_masks: Any = None,
    ) -> np.ndarray:
        """mu(s, a_prev); 0 without a previous action, and for methods without a controller."""
        acting, single = self._query(observation, prev_action, tokens, action_masks)
        mu = np.asarray(acting.mu)
        return mu[0] if single else mu

    @property
    def masked(self) -> bool:
        """Whether `predict` takes action masks."""
        return self.spaces.masked

    @property
    def nested(self) -> bool:
        """Whether a controller is part of the policy."""
        return self.traits.nested

    @property
    def deterministic(self) -> bool:
        """Whether all probability is on one action, so that sampling is being greedy."""
        return self.traits.deterministic

    @property
    def _dial(self) -> Dial | None:
        return self.algorithm if isinstance(self.algorithm, Dial) else None

    @property
    def price(self) -> float | None:
        """The price of switching that the dial is set to; None for policies without a dial."""
        return float(self._dial.price(self.params)) if self._dial else None

    @property
    def largest_price(self) -> float | None:
        """The largest price that the dial learned; None for policies without a dial."""
        return float(self._dial.largest_price(self.params)) if self._dial else None

    @property
    def largest_burst(self) -> float | None:
        """The largest burst that the method learned to plan with; None for other methods."""
        return self.algorithm.largest_burst if isinstance(self.algorithm, Limited) else None

    @property
    def setting_name(self) -> str:
        """What `calibrate` sweeps: "price" (dial), "rate" (limits) or "threshold" (hysteresis)."""
        return self.adjustable.name

    @property
    def setting(self) -> float | None:
        """The value of that setting; None for a policy without hysteresis."""
        return self.adjustable.value(self)

    @property
    def settings(self) -> dict[str, Any]:
        """Price, threshold and limit as JSON."""
        limit = self.limit and dataclasses.asdict(self.limit)
        return {"price": self.price, "hysteresis": self.hysteresis, "limit": limit}

    @property
    def parts(self) -> PolicyParts:
        """The arguments of the constructor."""
        names = [field.name for field in dataclasses.fields(PolicyParts)]
        return PolicyParts(**{name: getattr(self, name) for name in names})

    def replace(self, **changes: Any) -> Policy:
        """The same policy with other arguments of the constructor."""
        return Policy(**{**vars(self.parts), **changes})

    def core(self) -> Policy:
        """The policy without its controller."""
        if not isinstance(self.algorithm, Nested):
            return self
        return self.replace(
            method=f"{self.method}{CORE}",
            config=self.config.core_config,
            params=self.algorithm.core_params(self.params),
            calibration=None,
        )

    def with_filter(self, rule: Rule | None) -> ContinuousCore:
        """The mean action of a policy with Box actions and no controller, behind a filter."""
        return mean_core(self).with_filter(rule)

    def at(self, price: Number) -> Policy:
        """The same policy with its dial at another price of switching.

        Prices beyond the largest that was learned are charged for the decision at hand, but not
        planned for. A price below 0 is a margin: the policy leaves its core's action only for one
        that is better by so much. At `-largest_price` it acts exactly as its core. Safe in
        mid-episode: keep passing the same state.

        Args:
            price: One price, or one for each row of a batch; from `-largest_price` on.

        Raises:
            InputError: The policy has no dial, or the price is out of range.
        """
        if self._dial is None:
            raise InputError(
                f"{self.method} has no dial: train dial-dqn or dial-sac, or smooth this policy "
                "with with_hysteresis"
            )
        return self.replace(params=self._dial.at(self.params, price))

    def modes(self) -> list[Policy]:
        """The ways to act by what a dial has learned, the same from each of them.

        A policy without a dial has one mode, itself.
        """
        if self._dial is None:
            return [self]
        whole = whole_config(self.method, self.config)  # of a gate that is a mode of a dial
        dial: Any = whole.build(choice_spec(self.spaces, self.repeats, whole.traits))
        return [self.replace(config=c, params=params) for c, params in dial.modes(self.params)]

    @property
    def mode(self) -> str:
        """How a dial acts, in a few words; empty for other policies."""
        return self._dial.mode(self.params) if self._dial else ""

    def with_setting(self, setting: float) -> Policy:
        """The same policy with its `setting_name` at `setting`."""
        return self.adjustable.at(self, setting)

    def with_budget(self, max_oscillation: float) -> Policy:
        """The same policy, smooth enough for a budget by its calibration.

        Takes the loosest setting from which the upper 95% bound of the measured mean stays within
        it; `with_limit` is always kept. Safe in mid-episode.

        Args:
            max_oscillation: The budget, in switches per step.

        Raises:
            InputError: The policy was not calibrated, or cannot reach the budget.
        """
        if self.calibration is None:
            raise InputError(
                f"this {self.method} policy was not calibrated: measure it first, with "
                "policy = policy_inertia.calibrate(policy, env)"
            )
        return self.at_row(self.calibration.within(max_oscillation))

    def at_row(self, row: Row) -> Policy:
        """The same policy at the mode and the setting of a row of its calibration."""
        policy: Policy = in_mode(self, row.mode)
        return policy.with_setting(row.setting)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to one safetensors file (no pickle)."""
        write_policy(Path(path), self.parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], core: Any = None, trust: bool = False) -> Policy:
        """Read what `save` wrote, or a run folder's last policy; nothing in it can run code.

        Args:
            path: A policy file, a run folder, or the name of a policy that comes with the package,
                such as "two-way".
            core: The policy that a smoothed one was trained around (see `load_core`), where the
                file could not hold it: files hold networks, not functions.
            trust: Let the file choose the env that `calibrate` and others make by default: a
                `package:Id`, which imports the package, and any arguments. Without it, the env
                must be registered, and its arguments are numbers and words.
        """
        return cls(**vars(read_policy(find_trained(Path(path)), core, trust)))

    def _rows(
        self, observation: ArrayLike | Mapping[str, ArrayLike], masks: Any
    ) -> tuple[np.ndarray, bool]:
        if masks is not None and not self.masked:
            raise InputError(f"{self} was trained without action masks: leave action_masks out")
        return one_or_batch(self.spaces.flat(observation), self.spaces.obs_shape, self.task)

    def _query(
        self, observation: ArrayLike, prev_action: ArrayLike, tokens: Any = None, masks: Any = None
    ) -> tuple[Acting, bool]:
        rows, single = self._rows(observation, masks)
        prev = previous_rows(self.spaces.actions, prev_action, len(rows))
        # a core that remembers is asked as at the start of an episode
        return self.acting(self.spaces.encode(rows, masks), prev, tokens), single

    def __repr__(self) -> str:
        extra = "" if self.hysteresis is None else f", hysteresis={self.hysteresis}"
        extra += "" if self.price is None else f", price={self.price:g}"
        extra += "" if self.limit is None else f", limit={self.limit}"
        extra += "" if self.switching is None else f", {self.switching}"
        return f"Policy({self.method} on {self.task or 'a task'}{extra})"
