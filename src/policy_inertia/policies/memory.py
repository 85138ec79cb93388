"""A policy's memory as a value: what it carries from one step to the next.

The state is a dict of named arrays with one row for each env. `predict`, evaluation, exported files
and env wrappers pass it on in this form. Every policy remembers its previous action; a filter adds
fields of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from policy_inertia.actions.discrete import split_choice
from policy_inertia.actions.space import ActionSpace, select
from policy_inertia.errors import InputError
from policy_inertia.types import Array

State = dict[str, np.ndarray]
PREVIOUS_ACTION = "previous_action"
REMAINING = "remaining"


@dataclass(frozen=True)
class Field:
    """One array of the state."""

    name: str
    initial: Callable[[int], np.ndarray]
    """Gives the rows of n envs at the start of an episode."""
    sample: Callable[[np.random.Generator, int], np.ndarray]
    """Gives random rows, as they may be in mid-episode."""
    carried: bool = False
    """Whether the rows outlive their episode."""
    optional: bool = False
    """Whether a state without it may be used: then every row is as at the start."""


@dataclass(frozen=True)
class Memory:
    """The fields of a policy's state."""

    fields: tuple[Field, ...]

    def initial(self, n: int) -> State:
        """The state of `n` envs at the start of an episode."""
        return {field.name: field.initial(n) for field in self.fields}

    def sample(self, rng: np.random.Generator, n: int) -> State:
        """Random states of `n` envs in mid-episode."""
        return {field.name: field.sample(rng, n) for field in self.fields}

    def reset(self, state: State, starts: np.ndarray) -> State:
        """Put the rows where `starts` is true back to the start of an episode."""
        n, rows = len(starts), dict(state)
        for field in self.fields:
            if not field.carried:
                rows[field.name] = select(starts, field.initial(n), state[field.name])
        return rows

    def at(self, state: State | None, n: int, starts: Any = None) -> State:
        """The state to act with: checked, and reset where an episode starts.

        Raises:
            InputError: The state is not this policy's, or belongs to another number of envs.
        """
        if state is None:
            return self.initial(n)
        rows: State = {}
        for field in self.fields:
            try:
                values = np.asarray(state[field.name])
            except (TypeError, KeyError, IndexError):
                if field.optional and isinstance(state, dict):
                    rows[field.name] = field.initial(n)
                    continue
                names = ", ".join(field.name for field in self.fields)
                raise InputError(
                    f"the state is {state!r}: pass the state that predict returned, with {names}"
                ) from None
            if len(values) != n:
                raise InputError(
                    f"the state has rows for {len(values)} envs and there are {n} observations: "
                    "pass the state that predict returned for them"
                )
            rows[field.name] = values
        return rows if starts is None else self.reset(rows, np.asarray(starts, bool).reshape(n))


class Filter(Protocol):
    """A rule between a policy's choice and the env: it may replace the action, and may remember."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """What it adds to the policy's memory."""

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        """Give the actions to take, and the new values of its own fields."""


def memory_of(
    actions: ActionSpace,
    filters: tuple[Filter, ...],
    remembered: Mapping[str, tuple[int, ...]] | None = None,
) -> Memory:
    """The memory of a policy.

    Args:
        actions: The env's actions.
        filters: The policy's filters.
        remembered: What its network remembers: float32 arrays by name, with the shape of one row.
    """
    previous = Field(PREVIOUS_ACTION, actions.null, actions.sample)
    own = tuple(_network_field(*item) for item in (remembered or {}).items())
    return Memory((previous, *(field for f in filters for field in f.fields), *own))


def handed_over(memory: Memory, actions: Any, action: Any) -> State:
    """The state after somebody else took `action`, the env's own or a batch: a hand-over.

    Raises:
        InputError: The actions are not continuous, or it is none of them.
    """
    if actions.finite:
        raise InputError(
            f"the actions are a {actions}: a hand-over is for continuous actions, so pass a state "
            "with previous_action instead"
        )
    values = np.asarray(action)
    values = values[None] if values.shape == actions.env_shape else values
    rows = actions.read(values, len(values), "the hand-over")
    return {**memory.initial(len(rows)), PREVIOUS_ACTION: rows}


def _network_field(name: str, shape: tuple[int, ...]) -> Field:
    return Field(
        name,
        lambda n: np.zeros((n, *shape), np.float32),
        lambda rng, n: rng.normal(0, 0.5, (n, *shape)).astype(np.float32),
    )


@dataclass(frozen=True)
class Hold:
    """Split a choice into an action and the number of steps to hold it."""

    repeats: tuple[int, ...]
    actions: ActionSpace

    @property
    def fields(self) -> tuple[Field, ...]:
        most = max(self.repeats)
        return (
            Field(REMAINING, lambda n: np.zeros(n, int), lambda rng, n: rng.integers(0, most, n)),
        )

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        action, hold = split_choice(choice, self.repeats)
        previous, remaining = state[PREVIOUS_ACTION], state[REMAINING]
        idle = (remaining == 0) | np.asarray(self.actions.is_null(previous))
        action = select(idle, action, previous)
        return action, {REMAINING: np.where(idle, hold, remaining) - 1}
