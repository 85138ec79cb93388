"""Hysteresis: repeat the last action unless a new one is clearly better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.errors import InputError
from policy_inertia.policies.memory import PREVIOUS_ACTION, Field, State
from policy_inertia.types import Array


def apply_hysteresis(scores: Array, prev: np.ndarray, new: np.ndarray, tau: float) -> np.ndarray:
    """Replace `new` by `prev` where `new` is better by less than `tau`.

    Args:
        scores: `(B, A)` Q-values or log-probabilities.
        prev: `(B,)` previous actions; -1 where there is none.
        new: `(B,)` actions that the policy would take.
        tau: The threshold, in units of `scores`.

    Returns:
        The `(B,)` actions to take; `new` wherever there is no previous action, or it is forbidden.
    """
    rows = np.arange(len(scores))
    last = scores[rows, prev]
    gain = scores[rows, new] - last
    return np.where((prev < 0) | (gain >= tau) | is_forbidden(last), new, prev)


@dataclass(frozen=True)
class Hysteresis:
    """The filter with one threshold, in Q or in log-probability."""

    threshold: float

    def __post_init__(self) -> None:
        if not self.threshold >= 0:
            raise InputError(f"hysteresis is {self.threshold}: give a threshold of 0 or more")

    @property
    def fields(self) -> tuple[Field, ...]:
        return ()

    def step(self, choice: np.ndarray, scores: Array, state: State) -> tuple[np.ndarray, State]:
        return apply_hysteresis(scores, state[PREVIOUS_ACTION], choice, self.threshold), {}
