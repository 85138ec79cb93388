"""The warm-up of a controller around a good core: first watch the core, then take over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.actions.per_head import per_head
from policy_inertia.actions.space import ActionSpace
from policy_inertia.types import Array

WATCHED = -1.0
"""The number of an episode in which the core acts and the controller only watches."""


@dataclass(frozen=True)
class WarmUp:
    """For `steps` transitions every episode is watched; over as many again the share falls to 0."""

    steps: int
    repeats: float
    """In watched episodes, the share of steps that repeat the last action instead: without them
    there would be nothing to compare the core's actions with."""
    actions: ActionSpace

    def controller_share(self, step: int) -> float:
        """The probability that an episode that begins at this step is run by the controller."""
        return min(max(step / self.steps - 1, 0.0), 1.0)

    def watches(self, step: int, rng: np.random.Generator) -> bool:
        """Draw whether an episode that begins at this step is watched."""
        return bool(self.steps) and rng.random() >= self.controller_share(step)

    def policy(self, policy: Any, core: Any, prev_action: np.ndarray, drawn: np.ndarray) -> Any:
        """Replace `policy` in watched episodes by the core with some repeated actions."""
        watched = drawn[:, None] < 0
        if not watched.any():
            return policy
        last = np.asarray(self.actions.encode(prev_action))
        last = np.where(is_forbidden(core.log_pi), np.float32(0), last)
        repeat = self.repeats * per_head(_row_sums, last, self.actions)
        watching = log_probabilities((1 - repeat) * np.exp(core.log_pi) + repeat * last)
        return policy._replace(log_pi=np.where(watched, watching, policy.log_pi))


def _row_sums(rows: np.ndarray) -> np.ndarray:
    return np.broadcast_to(rows.sum(1, keepdims=True), rows.shape)


def log_probabilities(pi: Array) -> np.ndarray:
    """Take logarithms of probabilities that may be 0."""
    return np.log(np.maximum(pi, np.finfo(np.float32).tiny))
