"""Filters for switches that do not all cost the same, and for actions that are held for a while."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.masks import is_forbidden
from policy_inertia.actions.per_head import chosen_scores
from policy_inertia.actions.space import ActionSpace
from policy_inertia.actions.switching import CostlyDiscrete, Switching
from policy_inertia.errors import InputError
from policy_inertia.policies.head_filters import Threshold, bucket_of, hysteresis_of
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import PREVIOUS_ACTION, Field, Filter, State
from policy_inertia.types import Array

LARGEST = 1e20
"""No score differs from another by so much."""
HELD = "held"
"""For how many steps in a row the action before the previous one was taken."""
HELD_ACTION = "held_action"
"""That action."""


def switch_filters(
    actions: ActionSpace,
    masked: bool,
    hysteresis: Threshold | None,
    limit: Limit | None,
    switching: Switching | None,
) -> tuple[Filter, ...]:
    """The filters of Discrete actions and heads, in the order in which they act.

    Args:
        actions: The actions.
        masked: Whether scores say which actions are forbidden.
        hysteresis: The threshold; None without hysteresis.
        limit: The limit, which has the last word; None without one.
        switching: Costs and dwell; None without them.

    Raises:
        InputError: They do not fit each other.
    """
    rules = switching or Switching()
    rules.check(actions, limit)
    filters: tuple[Filter, ...] = ()
    if hysteresis is not None:
        filters += (_hysteresis(hysteresis, actions, rules),)
    if rules.dwell > 1:
        filters += (Dwell(rules.dwell, actions),)
    if limit is not None:
        if rules.costs is not None and isinstance(actions, Discrete):
            actions = CostlyDiscrete(actions.n, actions.first, rules.costs)
        filters += (bucket_of(limit, actions, masked),)
    return filters


def _hysteresis(threshold: Threshold, actions: ActionSpace, rules: Switching) -> Filter:
    if rules.costs is None:
        return hysteresis_of(threshold, actions)
    if isinstance(threshold, tuple):
        raise InputError(f"hysteresis is {threshold}: with costs, give one threshold")
    return CostHysteresis(threshold, rules)


@dataclass(frozen=True)
class CostHysteresis(Hysteresis):
    """A new action must be better by the threshold times what the switch to it costs.

    If it is not, the best action after its cost is taken; repeating the last one costs nothing.
    """

    switching: Switching

    @cached_property
    def prices(self) -> np.ndarray:
        """What each switch must gain, `(A, A)`."""
        costs = self.switching.matrix
        threshold = min(self.threshold, LARGEST)
        return np.multiply(costs, threshold, out=np.zeros_like(costs), where=costs > 0)

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        previous, rows = state[PREVIOUS_ACTION], np.arange(len(choice))
        worth = np.asarray(scores - self.prices[previous])
        last = np.asarray(scores)[rows, previous]
        taken = (previous < 0) | (worth[rows, choice] >= last) | is_forbidden(last)
        return np.where(taken, choice, worth.argmax(1)), {}


@dataclass(frozen=True)
class Dwell:
    """An action is held for at least `steps` steps, unless an action mask forbids it.

    The count is of the actions that were taken in the end, whatever later filters did.
    """

    steps: int
    actions: ActionSpace

    @property
    def fields(self) -> tuple[Field, ...]:
        shape, actions = self.actions.shape, self.actions
        return (
            Field(
                HELD,
                lambda n: np.zeros((n, *shape), int),
                lambda rng, n: rng.integers(0, self.steps + 1, (n, *shape)),
                optional=True,
            ),
            Field(HELD_ACTION, actions.null, actions.sample, optional=True),
        )

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        previous = state[PREVIOUS_ACTION]
        held = np.where(previous == state[HELD_ACTION], state[HELD] + 1, 1)
        stuck = (previous >= 0) & (held < self.steps) & ~self._forbidden(scores, previous)
        return np.where(stuck, previous, choice), {HELD: held, HELD_ACTION: previous}

    def _forbidden(self, scores: Array, previous: np.ndarray) -> Any:
        if self.actions.shape:
            return is_forbidden(chosen_scores(scores, previous, self.actions))
        return is_forbidden(np.asarray(scores)[np.arange(len(previous)), previous])
