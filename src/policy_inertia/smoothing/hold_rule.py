"""The decision of `SmoothActions`: does the agent's action pass, or is the last one repeated?"""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.algorithms.interface import Nested
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.policies.cores import Core
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import PREVIOUS_ACTION, State, memory_of
from policy_inertia.policies.policy import Policy
from policy_inertia.types import Array


class HoldRule:
    """Decides for a batch of envs whether the agent's action is replaced by the last one.

    With a threshold, the last action is repeated unless the agent's is better by the threshold, in
    the controller's scores. Without one, it is repeated with the probability that the policy's
    controller gives.

    Args:
        controller: A policy, or a core from `load_core`.
        hysteresis: The threshold; None for the controller's own, if it has one.
        deterministic: Repeat where the probability is at least 0.5, instead of drawing.
        spaces: The spaces of the env that is wrapped.

    Raises:
        InputError: The controller cannot decide, or belongs to another env.
    """

    def __init__(
        self,
        controller: Policy | Core,
        hysteresis: float | None,
        deterministic: bool,
        spaces: Spaces,
    ) -> None:
        if not isinstance(controller, Policy | Core):
            raise InputError(
                f"the controller is {type(controller).__name__}: give a Policy, or a core from "
                "load_core"
            )
        _refuse_other_spaces(controller, spaces)
        _refuse_memory(controller)
        if hysteresis is not None:
            controller = controller.with_hysteresis(hysteresis)
        self.controller, self.deterministic = controller, deterministic
        self.hysteresis = None
        if controller.hysteresis is not None:
            self.hysteresis = Hysteresis(controller.hysteresis)
        elif not (isinstance(controller, Policy) and controller.nested):
            raise InputError(
                f"{controller} has no inertia controller: give hysteresis=..., the gain that a new "
                "action must bring, or a policy trained with nsac or ndqn"
            )
        self.actions = spaces.actions
        self.memory = memory_of(spaces.actions, ())
        self.rng = np.random.default_rng()

    def step(self, obs: np.ndarray, action: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """Decide for each env.

        Args:
            obs: The env's observations, one for each env.
            action: The agent's actions, counted from 0.
            state: The memory after the last step, or `memory.initial(n)`.

        Returns:
            Which envs repeat their last action, and the new memory; `previous_action` holds the
            actions to take.
        """
        previous = state[PREVIOUS_ACTION]
        held = np.asarray(~(self.actions.is_null(previous) | self.actions.equal(action, previous)))
        if not held.any():
            return held, {PREVIOUS_ACTION: action}
        # ask only about envs in which something is to be decided; of one env, without a copy
        rows: Any = slice(None) if len(held) == 1 else np.flatnonzero(held)
        held[rows] = self._repeats(obs[rows], action[rows], previous[rows])
        return held, {PREVIOUS_ACTION: np.where(held, previous, action)}

    def _repeats(self, obs: np.ndarray, action: np.ndarray, previous: np.ndarray) -> np.ndarray:
        """Which envs repeat `previous`; it is no null action, and differs from `action`."""
        if self.hysteresis is not None:
            scores = self._scores(obs, previous)
            taken, _ = self.hysteresis.step(action, scores, {PREVIOUS_ACTION: previous})
            return taken != action
        policy: Any = self.controller
        algorithm: Nested = policy.algorithm
        encoded = policy.spaces.encode_for_networks(obs)
        probability = algorithm.hold_probability(policy.params, encoded, previous, action)
        if self.deterministic:
            return probability >= 0.5
        return self.rng.random(len(probability)) < probability

    def _scores(self, obs: np.ndarray, previous: np.ndarray) -> Array:
        if isinstance(self.controller, Core):
            scores = self.controller.scores(obs)
            assert scores is not None, "with_hysteresis refuses cores that give actions"
            return scores
        return self.controller.acting(self.controller.spaces.encode(obs), previous).scores


def _refuse_other_spaces(controller: Policy | Core, spaces: Spaces) -> None:
    if controller.spaces.to_dict() != spaces.to_dict():
        raise InputError(
            f"{controller} acts on {controller.spaces} and the env has {spaces}: put the "
            "wrapper where the env gives the observations that the controller was trained on"
        )


def _refuse_memory(controller: Policy | Core) -> None:
    names = [field.name for field in controller.memory.fields if field.name != PREVIOUS_ACTION]
    if names:
        raise InputError(
            f"{controller} also remembers {', '.join(names)}, and here only actions are known: "
            "give a policy that decides at every step, such as nsac"
        )
