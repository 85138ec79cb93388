"""A rule as a policy's filter: which numbers it touches, what they mean, and when it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.errors import InputError, nearest
from policy_inertia.policies.action_filters.rule import Rule, Values
from policy_inertia.policies.memory import PREVIOUS_ACTION, Field, State
from policy_inertia.types import Array

Dimension = Literal["absolute", "delta", "untouched"]
"""What one number of an action means.

absolute: A position, a torque, a speed: the rule smooths the number itself.
delta: A change of a position: the rule smooths the position, the sum of the numbers.
untouched: The rule leaves it alone, such as a gripper that opens and closes.
"""


def read_dimensions(
    dimensions: Dimension | Sequence[Dimension], actions: Box
) -> tuple[Dimension, ...]:
    """The declared meaning of each number of an action.

    Args:
        dimensions: One meaning for all numbers, or a list with one for each.
        actions: The action space.

    Raises:
        InputError: A meaning is unknown, a number has none, or a delta cannot be 0.
    """
    d = len(actions.low)
    declared = (dimensions,) * d if isinstance(dimensions, str) else tuple(dimensions)
    known = get_args(Dimension)
    for meaning in declared:
        if meaning not in known:
            raise InputError(f"a dimension is '{meaning}'{nearest(str(meaning), known)}")
    if len(declared) != d:
        raise InputError(
            f"{len(declared)} dimensions are declared and an action has {d} numbers: say absolute, "
            "delta or untouched for each of them"
        )
    for i, (meaning, low, high) in enumerate(zip(declared, actions.low, actions.high, strict=True)):
        if meaning == "delta" and not low <= 0 <= high:
            raise InputError(
                f"number {i} of the actions is declared a delta and goes from {low:g} to {high:g}: "
                "a delta can be 0, so declare it absolute"
            )
    return declared


@dataclass(frozen=True)
class ActionFilter:
    """A rule between a policy and its env.

    The rule starts afresh with an episode: its first output is the policy's action. Where the state
    has a previous action but no memory of this rule, at a hand-over, it starts from that action.

    Attributes:
        rule: The rule.
        actions: The action space.
        dimensions: What each number of an action means.
        role: The beginning of the names of its fields in the state.
    """

    rule: Rule
    actions: Box
    dimensions: tuple[Dimension, ...]
    role: str = "filter"

    @cached_property
    def touched(self) -> np.ndarray:
        """The places of the numbers that the rule touches."""
        return np.flatnonzero([meaning != "untouched" for meaning in self.dimensions])

    @cached_property
    def delta(self) -> np.ndarray | None:
        """Which of the touched numbers are deltas; None if there are none."""
        delta = np.array([self.dimensions[i] == "delta" for i in self.touched], bool)
        return delta if delta.any() else None

    @cached_property
    def zero(self) -> np.ndarray:
        """Where 0 of the env's units lies inside, for the touched numbers."""
        return (-self.actions.middle / self.actions.half_range)[self.touched]

    def _started(self, rows: np.ndarray) -> Values:
        """The memory, as if the positions had been `rows` for ever."""
        memory = self.rule.start(rows)
        if self.delta is not None:
            memory |= {"wanted": np.zeros_like(rows), "taken": np.zeros_like(rows)}
        return {f"{self.role}_{key}": values for key, values in memory.items()}

    @cached_property
    def widths(self) -> dict[str, int]:
        """How many numbers each field has for one env."""
        started = self._started(np.zeros((1, len(self.touched))))
        return {name: row.shape[1] for name, row in started.items()}

    @property
    def fields(self) -> tuple[Field, ...]:
        """NaN stands for a rule that has not started."""
        k = len(self.touched)

        def field(name: str, width: int) -> Field:
            return Field(
                name,
                lambda n: np.full((n, width), np.nan),
                lambda rng, n: self._started(rng.uniform(-1, 1, (n, k)))[name],
                optional=True,
            )

        return tuple(field(name, width) for name, width in self.widths.items())

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        if not len(self.touched):
            return choice, {}
        everything = len(self.touched) == choice.shape[1]
        x = choice if everything else choice[:, self.touched]
        y, memory = self.apply(x, self._memory(x, state))
        if not everything:
            y, touched = choice.copy(), y
            y[:, self.touched] = touched
        return y, memory

    def _memory(self, x: np.ndarray, state: State) -> State:
        """The memory to act with: started where a part of it is missing or another rule's."""
        memory = {name: state[name] for name in self.widths}
        if any(memory[name].shape[1] != width for name, width in self.widths.items()):
            memory = {name: np.full((len(x), width), np.nan) for name, width in self.widths.items()}
        fresh = np.isnan(sum(rows[:, :1] for rows in memory.values()))
        if not fresh.any():
            return memory
        started = self.start(x, state[PREVIOUS_ACTION][:, self.touched])
        return {name: np.where(fresh, rows, memory[name]) for name, rows in started.items()}

    def start(self, x: np.ndarray, previous: np.ndarray) -> State:
        """The memory of a rule that starts, for the touched numbers.

        Args:
            x: What the policy wants.
            previous: The action from which to start; NaN for none.
        """
        start = np.where(np.isnan(previous), x, previous)
        if self.delta is not None:
            start = np.where(self.delta, 0, start)
        return self._started(start)

    def apply(self, x: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """The actions to take for the touched numbers, and the new memory."""
        memory = {name.removeprefix(f"{self.role}_"): rows for name, rows in state.items()}
        if self.delta is None:
            y, memory = self.rule.step(x, memory)
            y = np.minimum(np.maximum(y, -1), 1)
        else:
            y, memory = self._apply_to_positions(x, self.delta, memory)
        return y, {f"{self.role}_{key}": rows for key, rows in memory.items()}

    def _apply_to_positions(
        self, x: np.ndarray, delta: np.ndarray, memory: Values
    ) -> tuple[np.ndarray, Values]:
        """Where numbers are deltas, smooth the position that they add up to."""
        taken = memory["taken"]
        wanted = np.where(delta, memory["wanted"] + x - self.zero, x)
        y, memory = self.rule.step(wanted, memory)
        y = np.clip(np.where(delta, y - taken + self.zero, y), -1, 1)
        taken = np.where(delta, taken + y - self.zero, 0)
        target = taken if self.rule.forgets else np.where(delta, wanted, 0)
        return y, memory | {"wanted": target, "taken": taken}
