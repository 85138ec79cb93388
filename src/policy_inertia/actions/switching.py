"""What a switch costs, and for how long an action is held at least."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import LARGEST_BURST, Limit, units
from policy_inertia.actions.discrete import Discrete
from policy_inertia.errors import InputError
from policy_inertia.types import Array

LONGEST_DWELL = 1_000_000


@dataclass(frozen=True)
class Switching:
    """Rules of switching that filters, limits and dials keep.

    Attributes:
        costs: `costs[i][j]` is what a switch from action i to action j costs, as a multiple of the
            threshold, of the token or of the price of an ordinary switch. None: all cost 1.
        dwell: An action is held for at least so many steps.
    """

    costs: tuple[tuple[float, ...], ...] | None = None
    dwell: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.dwell <= LONGEST_DWELL:
            raise InputError(
                f"the dwell is {self.dwell}: give a number of steps from 1 (no rule) to "
                f"{LONGEST_DWELL:,}"
            )
        for i, row in enumerate(self.costs or ()):
            if len(row) != len(self.costs or ()):
                raise InputError(
                    f"row {i} of the costs has {len(row)} numbers: give a square table, one row "
                    "and one column for each action"
                )
            if not all(0 <= cost < LARGEST_BURST for cost in row) or row[i] != 0:
                raise InputError(
                    f"row {i} of the costs is {list(row)[:8]}: give finite numbers from 0 on, and "
                    "0 on the diagonal, since repeating an action is no switch"
                )

    @classmethod
    def of(cls, costs: Any = None, dwell: int = 1) -> Switching:
        """The rules with a table of any kind, such as an array, or row by row in one list."""
        if costs is None:
            return cls(None, dwell)
        try:
            lines = list(costs)
            n = math.isqrt(len(lines))
            if n * n == len(lines) and all(np.ndim(cost) == 0 for cost in lines):
                lines = [lines[n * i : n * (i + 1)] for i in range(n)]
            rows = tuple(tuple(map(float, row)) for row in lines)
        except (TypeError, ValueError):
            raise InputError(
                f"the costs are {str(costs)[:60]}: give a table of numbers, costs[i][j]"
            ) from None
        return cls(rows, dwell)

    @cached_property
    def matrix(self) -> np.ndarray:
        """The costs as an array."""
        return np.array(self.costs, np.float32)

    def check(self, actions: Any, limit: Limit | None) -> None:
        """Raise an `InputError` if the rules do not fit the actions or the limit."""
        if self.costs is None:
            return
        if not isinstance(actions, Discrete) or actions.n != len(self.costs):
            raise InputError(
                f"the costs are for {len(self.costs)} actions, and the actions are a {actions}: "
                "give one row and one column for each Discrete action"
            )
        most = max(map(max, self.costs))
        if limit is not None and most > limit.burst:
            raise InputError(
                f"a switch costs up to {most:g} tokens, and the bucket holds {limit.burst:g}: give "
                "a larger burst, or it would never be possible"
            )

    def to_dict(self) -> dict[str, Any]:
        """The rules as JSON."""
        return asdict(self)

    def __str__(self) -> str:
        held = f"held for {self.dwell} steps at least" if self.dwell > 1 else ""
        most = 0.0 if self.costs is None else max(map(max, self.costs))
        priced = f"switches cost up to {most:g}" if self.costs is not None else ""
        return ", ".join(text for text in (held, priced) if text) or "no rules"


@dataclass(frozen=True)
class CostlyDiscrete(Discrete):
    """Discrete actions whose switches take as many tokens as a table says."""

    costs: tuple[tuple[float, ...], ...] = ()

    @cached_property
    def units(self) -> np.ndarray:
        """The table in millionths of a token."""
        return np.array([[units(cost) for cost in row] for row in self.costs])

    def cost(self, previous: Array, actions: Array) -> Any:
        return self.units[previous, actions] * (np.asarray(previous) >= 0)
