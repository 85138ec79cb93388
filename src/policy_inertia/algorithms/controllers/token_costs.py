"""Switches that take different numbers of tokens, as a controller plans with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policy_inertia.actions.bucket import TOKEN, units
from policy_inertia.actions.switching import Switching
from policy_inertia.errors import InputError
from policy_inertia.types import Array

MOST_LEVELS = 16
"""Different costs of one table: the critics are asked once for each."""


class TokenCosts(NamedTuple):
    """A table of costs. All numbers are in millionths of a token."""

    levels: np.ndarray
    """(K,) the different costs, in increasing order; the first is 0."""
    level: np.ndarray
    """(A + 1, A) which of them the move from one action to another takes. The last row is that of
    no previous action, -1: its moves are free."""
    table: tuple[tuple[float, ...], ...]
    """The costs in tokens."""

    @classmethod
    def of(cls, costs: tuple[float, ...] | None, n_actions: int) -> TokenCosts | None:
        """The costs of a setting `costs`, a table row by row; None where every switch takes 1.

        Raises:
            InputError: It is no table for so many actions, or has too many different costs.
        """
        if costs is None:
            return None
        table = Switching.of(costs).costs
        assert table is not None
        if len(table) != n_actions:
            raise InputError(
                f"costs has {len(costs)} numbers: give {n_actions**2}, a row for each of the "
                f"{n_actions} actions, one row behind the other"
            )
        taken = np.array([[units(cost) for cost in row] for row in table])
        taken = np.concatenate([taken, np.zeros((1, n_actions), int)])
        levels, level = np.unique(taken, return_inverse=True)
        if len(levels) > MOST_LEVELS:
            raise InputError(
                f"costs has {len(levels)} different numbers: a controller that plans with a limit "
                f"is asked once for each, so give at most {MOST_LEVELS}"
            )
        return cls(levels.astype(np.int32), level.reshape(taken.shape).astype(np.int32), table)

    @property
    def unit(self) -> int:
        """What the dearest switch takes: who has so much at every step has no limit."""
        return int(self.levels[-1]) or TOKEN

    def cost(self, previous: Array, actions: Array, xp: Any = np) -> Array:
        """What moves take: `(n,)` whole numbers."""
        return xp.asarray(self.levels)[xp.asarray(self.level)[previous, actions]]

    def chosen(
        self, u: Array, can_pay: Array, previous: Array, xp: Any = np
    ) -> tuple[Array, Array]:
        """The values of actions after what they take, and which of them can be paid for.

        Args:
            u: (K, B, A) the values of all actions after each cost.
            can_pay: (B, K) 1 where there are tokens for a cost, else 0; or one row for all.
            previous: (B,) the previous actions.
            xp: The array module.

        Returns:
            Two arrays (B, A).
        """
        level = xp.asarray(self.level)[previous]
        can_pay = xp.broadcast_to(can_pay, (len(level), len(self.levels)))
        q = xp.take_along_axis(u, level[None], 0)[0]
        return q, xp.take_along_axis(can_pay, level, 1) > 0
