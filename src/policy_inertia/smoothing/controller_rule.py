"""The decision of `SmoothActions` for a trained controller of continuous actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.box import Box, Point
from policy_inertia.algorithms.interface import plain_box
from policy_inertia.algorithms.nested import NestedConfig
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.hold_rule import refuse_other_spaces


class ControllerRule:
    """Puts a policy's controller around the agent: the agent's action stands for the core's.

    A dial goes a part of the way from the last action to the agent's. The paper's inertia repeats
    the last action, or numbers of it, with the probability mu. The policy's own core is not called.

    Args:
        policy: A policy with a controller of continuous actions.
        deterministic: Repeat where mu is above 0.5, instead of drawing; a dial draws nothing.
        spaces: The spaces of the env that is wrapped.
        limit: The limit on movement, which has the last word; None for the policy's own.

    Raises:
        InputError: The policy has no such controller, or belongs to another env.
    """

    def __init__(
        self,
        policy: Policy,
        deterministic: bool,
        spaces: Spaces,
        limit: MovementLimit | None = None,
    ) -> None:
        refuse_other_spaces(policy, spaces)
        policy = policy if limit is None else policy.within(limit)
        self.policy, self.deterministic, self.spaces = policy, deterministic, spaces
        self.controller = _config_of(policy).controller(policy.spaces.spec)
        self.actions: Any = spaces.actions
        self.memory = policy.memory
        self.rng = np.random.default_rng()

    def step(
        self, obs: Any, action: np.ndarray, state: State, masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, State]:
        """Let the controller change the agent's actions; see `StepRule`. No masks here."""
        encoded = self.policy.spaces.encode_for_networks(self.spaces.flat(obs))
        agent = plain_box(Point(action), len(action))
        acting = self.controller.apply(
            self.policy.params.controller, encoded, state[PREVIOUS_ACTION], agent, np
        )
        mixed, fields = acting.policy, State()
        taken = mixed.mode() if self.deterministic else mixed.sample(self.rng)
        for part in self.policy.filters:
            taken, own = part.step(taken, acting.scores, state)
            fields |= own
        held = ~np.asarray(self.actions.equal(taken, action.astype(taken.dtype)))
        return held, {**fields, PREVIOUS_ACTION: taken}


def _config_of(policy: Policy) -> NestedConfig:
    """The controller's settings; raise if there is none, or if it acts for itself."""
    config: Any = policy.config
    if not config.traits.nested or not isinstance(policy.spaces.actions, Box):
        raise InputError(
            f"{policy} has no controller of continuous actions: give one trained by smooth, "
            "dial-sac or nsac, or rule=... or limit=..."
        )
    if config.traits.acts_freely:
        raise InputError(
            f"{policy} acts freely, so it would ignore the agent: run it by itself, with predict, "
            "or train it without full"
        )
    if policy.repeats != (1,):
        raise InputError(
            f"{policy} decides how long it holds an action, which the agent does: give a policy "
            "that decides at every step"
        )
    return config
