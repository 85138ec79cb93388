"""The decision of `SmoothActions`: does the agent's action pass, or is the last one repeated?"""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.masks import forbid, forbids
from policy_inertia.actions.space import select
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.policies.cores import Core
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import PREVIOUS_ACTION, State, memory_of
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.token_bucket import FORCED, TOKENS, TokenBucket
from policy_inertia.types import Array


class HoldRule:
    """Decides for a batch of envs whether the agent's action is replaced by the last one.

    With a threshold, the last action is repeated unless the agent's is better by the threshold, in
    the controller's scores. Without one, it is repeated with the probability that the policy's
    controller gives. With a limit, it is also repeated wherever there is no token for a switch.

    Args:
        controller: A policy, or a core from `load_core`; None with a limit that decides alone.
        hysteresis: The threshold; None for the controller's own, if it has one.
        deterministic: Repeat where the probability is at least 0.5, instead of drawing.
        spaces: The spaces of the env that is wrapped.
        limit: The limit on switching; None for the controller's own, if it has one.
        masked: Whether the env says which actions are allowed.

    Raises:
        InputError: The controller cannot decide, or belongs to another env.
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
        self.controller = checked_controller(controller, hysteresis, spaces, limit)
        self.deterministic, self.actions = deterministic, spaces.actions
        self.spaces = spaces
        self.hysteresis: Hysteresis | None = None
        self.bucket = None if limit is None else TokenBucket(limit, spaces.actions, masked)
        if self.controller is not None:
            threshold = self.controller.hysteresis
            if threshold is not None:
                assert not isinstance(threshold, tuple)  # those are for several heads
                self.hysteresis = Hysteresis(threshold)
            if self.controller.limit is not None:
                self.bucket = TokenBucket(self.controller.limit, spaces.actions, masked)
        self.decides = self.hysteresis is not None or has_controller(self.controller)
        filters = () if self.bucket is None else (self.bucket,)
        self.memory = memory_of(spaces.actions, filters)
        self.rng = np.random.default_rng()

    def step(
        self,
        obs: Any,
        action: np.ndarray,
        state: State,
        masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, State]:
        """Decide for each env.

        Args:
            obs: The env's observations, one for each env.
            action: The agent's actions, counted from 0.
            state: The memory after the last step, or `memory.initial(n)`.
            masks: Which actions the env allows; what it forbids is not repeated.

        Returns:
            Which envs repeat their last action, and the new memory; `previous_action` holds the
            actions to take.
        """
        previous = state[PREVIOUS_ACTION]
        held = np.asarray(~(self.actions.is_null(previous) | self.actions.equal(action, previous)))
        if held.any() and self.decides:
            obs = self.spaces.flat(obs)
            # ask only about envs in which something is to be decided; of one env, without a copy
            rows: Any = slice(None) if len(held) == 1 else np.flatnonzero(held)
            tokens = None if self.bucket is None else state[TOKENS][rows]
            held[rows] = self._repeats(obs[rows], action[rows], previous[rows], tokens)
        elif not self.decides:
            held[:] = False
        scores = np.zeros((len(held), self.actions.width), np.float32)
        if masks is not None:
            scores = np.asarray(forbid(scores, masks))
            held &= ~forbids(scores, previous)
        taken, fields = select(held, previous, action), State()
        if self.bucket is not None:
            taken, fields = self.bucket.step(taken, scores, state)
            held = np.asarray(~self.actions.equal(taken, action))
        return held, {**fields, PREVIOUS_ACTION: taken}

    def _repeats(
        self,
        obs: np.ndarray,
        action: np.ndarray,
        previous: np.ndarray,
        tokens: np.ndarray | None,
    ) -> np.ndarray:
        """Which envs repeat `previous`; it is no null action, and differs from `action`."""
        if self.hysteresis is not None:
            scores = scores_of(self.controller, obs, previous, tokens)
            taken, _ = self.hysteresis.step(action, scores, {PREVIOUS_ACTION: previous})
            return taken != action
        policy: Any = self.controller
        encoded = policy.spaces.encode_for_networks(obs)
        probability = policy.hold_probability(encoded, previous, action, tokens)
        if self.deterministic:
            return probability >= 0.5
        return self.rng.random(len(probability)) < probability


def scores_of(
    controller: Policy | Core | None,
    obs: np.ndarray,
    previous: np.ndarray,
    tokens: np.ndarray | None,
) -> Array:
    """The scores that hysteresis compares."""
    if isinstance(controller, Core):
        scores = controller.scores(obs)
        assert scores is not None, "with_hysteresis refuses cores that give actions"
        return scores
    assert controller is not None
    return controller.acting(controller.spaces.encode(obs), previous, tokens).scores


def has_controller(controller: Policy | Core | None) -> bool:
    """Whether something decides that was trained."""
    return isinstance(controller, Policy) and controller.nested


def checked_controller(
    controller: Policy | Core | None,
    hysteresis: float | None,
    spaces: Spaces,
    limit: Limit | None,
) -> Policy | Core | None:
    """The controller with its threshold and its limit; raise if it cannot decide."""
    if controller is None and limit is not None and hysteresis is None:
        return None
    if not isinstance(controller, Policy | Core):
        raise InputError(
            f"the controller is {type(controller).__name__}: give a Policy, or a core from "
            "load_core, or limit=... alone"
        )
    refuse_other_spaces(controller, spaces)
    _refuse_memory(controller)
    if hysteresis is not None:
        controller = controller.with_hysteresis(hysteresis)
    if limit is not None:
        controller = controller.within(limit)
    filtered = controller.hysteresis is not None or controller.limit is not None
    if not filtered and not has_controller(controller):
        raise InputError(
            f"{controller} has no inertia controller: give hysteresis=..., the gain that a new "
            "action must bring, or limit=..., or a policy trained with nsac or ndqn"
        )
    return controller


def refuse_other_spaces(controller: Policy | Core, spaces: Spaces) -> None:
    """Raise if the controller acts on other observations or actions than the env's."""
    if controller.spaces.unscaled.to_dict() != spaces.to_dict():
        raise InputError(
            f"{controller} acts on {controller.spaces} and the env has {spaces}: put the "
            "wrapper where the env gives the observations that the controller was trained on"
        )


def _refuse_memory(controller: Policy | Core) -> None:
    known = (PREVIOUS_ACTION, TOKENS, FORCED)
    names = [field.name for field in controller.memory.fields if field.name not in known]
    if names:
        raise InputError(
            f"{controller} also remembers {', '.join(names)}, and here only actions are known: "
            "give a policy that decides at every step, such as nsac"
        )
