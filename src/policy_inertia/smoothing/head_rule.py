"""The decision of `SmoothActions` for several heads: which of them repeat their last action?"""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.masks import forbid, is_forbidden
from policy_inertia.actions.per_head import chosen_scores
from policy_inertia.algorithms.controllers.valued import certain
from policy_inertia.algorithms.interface import plain
from policy_inertia.envs.spaces import Spaces
from policy_inertia.policies.cores import Core
from policy_inertia.policies.head_filters import bucket_of, hysteresis_of
from policy_inertia.policies.memory import PREVIOUS_ACTION, State, memory_of
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.token_bucket import TOKENS
from policy_inertia.smoothing.hold_rule import checked_controller, has_controller, scores_of


class HeadRule:
    """Decides for a batch of envs which heads of the agent's actions repeat their last one.

    A threshold and a limit are those of `HoldRule`, for each head. Without a threshold, a policy's
    controller goes around the agent, whose action stands for the core's. The policy's own core is
    not called. The arguments are those of `HoldRule`; a gate draws nothing.
    """

    def __init__(
        self,
        controller: Policy | Core | None,
        hysteresis: float | None,
        deterministic: bool,
        spaces: Spaces,
        limit: Limit | None = None,
        masked: bool = False,
    ) -> None:
        policy: Any = checked_controller(controller, hysteresis, spaces, limit)
        self.policy, self.deterministic, self.spaces = policy, deterministic, spaces
        self.actions: Any = spaces.actions
        limit = limit if policy is None else policy.limit
        threshold = None if policy is None else policy.hysteresis
        self.hysteresis = None if threshold is None else hysteresis_of(threshold, self.actions)
        self.bucket = None if limit is None else bucket_of(limit, self.actions, masked)
        self.controller: Any = None
        if self.hysteresis is None and has_controller(policy):
            self.controller = policy.config.controller(policy.spaces.spec)
        self.memory = memory_of(self.actions, () if self.bucket is None else (self.bucket,))
        self.rng = np.random.default_rng()

    def step(
        self, obs: Any, action: np.ndarray, state: State, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, State]:
        """Decide for each env and head; see `StepRule`."""
        obs, previous = self.spaces.flat(obs), state[PREVIOUS_ACTION]
        scores: Any = np.zeros((len(action), self.actions.width), np.float32)
        if self.hysteresis is not None:
            scores = scores_of(self.policy, obs, previous, state.get(TOKENS))
        if masks is not None:
            scores = forbid(scores, masks)
        taken, fields = action, State()
        if self.hysteresis is not None:
            taken, _ = self.hysteresis.step(action, scores, state)
        elif self.controller is not None:
            taken = self._mixed(obs, action, previous, state.get(TOKENS), masks)
            forbidden = is_forbidden(chosen_scores(scores, taken, self.actions))
            taken = np.where(forbidden, action, taken)
        if self.bucket is not None:
            taken, fields = self.bucket.step(taken, scores, state)
        held = ~np.asarray(self.actions.equal(taken, action))
        return held, {**fields, PREVIOUS_ACTION: taken}

    def _mixed(
        self,
        obs: np.ndarray,
        action: np.ndarray,
        previous: np.ndarray,
        tokens: np.ndarray | None,
        masks: np.ndarray | None,
    ) -> np.ndarray:
        """What the controller does around the agent's actions."""
        agent = certain(action, self.actions, np)
        if masks is not None:
            agent = agent._replace(log_pi=forbid(agent.log_pi, masks))
        params = self.policy.params_with(tokens).controller
        encoded = self.policy.spaces.encode_for_networks(obs)
        mixed = self.controller.apply(params, encoded, previous, plain(agent, agent.log_pi), np)
        policy = mixed.policy
        return np.asarray(policy.mode() if self.deterministic else policy.sample(self.rng))
