"""How much continuous actions move: figures of one episode.

Every function takes the actions as `actions/box.py` has them, `(n, d)` from -1 to 1, and returns
shares of the range, so that 1 is a move from one bound to the other. Steps are counted as time; a
`Measure` converts to seconds. Episodes that are too short for a figure have none, and do not count:
whoever falls early would look smooth otherwise.
"""

from __future__ import annotations

import numpy as np

WINDOW = 50
"""Steps over which CAPS's smoothness is computed: it depends on the length."""


def fluctuation_per_dimension(actions: np.ndarray) -> np.ndarray | None:
    """The mean of |a_t - a_{t-1}| for each number of the action; None for a single step."""
    return np.abs(_steps(actions)).mean(0) if len(actions) > 1 else None


def fluctuation(actions: np.ndarray) -> float | None:
    """The mean of |a_t - a_{t-1}| over steps and numbers: the action fluctuation."""
    moves = fluctuation_per_dimension(actions)
    return None if moves is None else float(moves.mean())


def sign_reversals(actions: np.ndarray, tolerance: float) -> float | None:
    """The share of steps at which a number turns back, over the numbers of the action.

    A number turns back if it moves up after it moved down, or the reverse, both by more than
    `tolerance`, a share of the range. None for fewer than three steps.
    """
    if len(actions) < 3:
        return None
    moves = _steps(actions)
    large = np.abs(moves) > tolerance
    turns = (moves[1:] * moves[:-1] < 0) & large[1:] & large[:-1]
    return float(turns.mean())


def jerk(actions: np.ndarray) -> float | None:
    """The mean of the absolute third difference: of a position, the third derivative.

    None for fewer than four steps.
    """
    return float(np.abs(np.diff(actions / 2, 3, axis=0)).mean()) if len(actions) > 3 else None


def smoothness(actions: np.ndarray, window: int = WINDOW) -> float | None:
    """CAPS's Sm on windows of equal length, for actions from -1 to 1: lower is smoother.

    Sm = 2 / (k f_s) sum_i M_i f_i over the k frequencies below f_s / 2, with the amplitudes
    M_i = 2 / n |FFT_i| (Mysore et al., 2021). It falls with the length n, by the root of n for
    noise. So it is the mean over windows of `window` steps; what is left at the end is not used.

    Returns:
        None if the episode is shorter than one window.
    """
    n = len(actions) // window
    if n == 0:
        return None
    windows = actions[: n * window].reshape(n, window, -1)
    return float(_weighted_spectrum(windows).mean()) * 2 / window


def unnormalised_smoothness(actions: np.ndarray) -> float:
    """Sm as the published code of ASAP and PAVE computes it, for actions from -1 to 1.

    The amplitudes are |FFT_i| without 2 / n, and the sum is divided by the number of steps. Taken
    over whole episodes of any length, it grows with the root of the length.
    Only to compare with their tables: it is no measure, and not in the registry.
    """
    return float(_weighted_spectrum(actions[None]).sum(1).mean()) / len(actions)


def _steps(actions: np.ndarray) -> np.ndarray:
    """The moves from each step to the next, as shares of the range."""
    return np.diff(actions, axis=0) / 2


def _weighted_spectrum(windows: np.ndarray) -> np.ndarray:
    """|FFT| times the frequency as a share of the highest: `(windows, n // 2, d)`."""
    n = windows.shape[1]
    spectrum = np.abs(np.fft.rfft(windows, axis=1))[:, : n // 2]
    return spectrum * 2 * np.fft.rfftfreq(n)[: n // 2, None]
