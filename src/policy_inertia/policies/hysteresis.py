"""Hysteresis: repeat the last action unless a new one is clearly better."""

from __future__ import annotations

import numpy as np


def apply_hysteresis(
    scores: np.ndarray, prev: np.ndarray, new: np.ndarray, tau: float
) -> np.ndarray:
    """Replace `new` by `prev` where `new` is better by less than `tau`.

    Args:
        scores: `(B, A)` Q-values or log-probabilities.
        prev: `(B,)` previous actions; -1 where there is none.
        new: `(B,)` actions that the policy would take.
        tau: The threshold, in units of `scores`.

    Returns:
        The `(B,)` actions to take; `new` wherever there is no previous action.
    """
    rows = np.arange(len(scores))
    gain = scores[rows, new] - scores[rows, prev]
    return np.where((prev < 0) | (gain >= tau), new, prev)
