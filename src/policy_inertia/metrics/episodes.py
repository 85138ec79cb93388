"""How much a policy oscillates, measured on action sequences; nothing here knows of policies.

An *episode's actions* is the sequence a_0 ... a_{n-1} of primitive actions. The edge cases:
an episode of one step has no switch and so a ratio of 0; an episode without steps is an error;
over no episodes at all every mean is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.types import Array


@dataclass(frozen=True)
class Episode:
    """One finished evaluation episode."""

    reward: float  # undiscounted return
    actions: np.ndarray
    terminated: bool
    crashed: bool | None = None  # None where the env does not tell

    def __len__(self) -> int:
        return len(self.actions)


def _actions(episode: Array) -> np.ndarray:
    actions = np.asarray(episode)
    if actions.ndim != 1 or not len(actions):
        raise InputError(
            f"an episode's actions have shape {actions.shape}: give a one-dimensional sequence "
            "of at least one action"
        )
    return actions


def switches(episode: Array) -> int:
    """c_i of the paper: how often a_t != a_{t-1} inside one episode."""
    actions = _actions(episode)
    return int(np.count_nonzero(actions[1:] != actions[:-1]))


def reversals(episode: Array) -> int:
    """How often the policy goes there and back (A, B, A) inside one episode."""
    a = _actions(episode)
    return int(np.count_nonzero((a[2:] == a[:-2]) & (a[2:] != a[1:-1])))


def oscillation_ratio(episodes: Iterable[Array]) -> float:
    """xi, Equation (action-oscillation-ratio) as evaluated: the mean over episodes of c_i / n_i."""
    return _mean([switches(e) / len(e) for e in episodes])


def reversal_ratio(episodes: Iterable[Array]) -> float:
    """The mean over episodes of reversals / steps."""
    return _mean([reversals(e) / len(e) for e in episodes])


def mean_dwell(episodes: Iterable[Array]) -> float:
    """The mean number of steps for which an action is held: all steps / all runs of one action."""
    episodes = [_actions(e) for e in episodes]
    runs = sum(switches(e) + 1 for e in episodes)
    return sum(len(e) for e in episodes) / runs if runs else float("nan")


def switch_matrix(episodes: Iterable[Array], n_actions: int) -> np.ndarray:
    """Counts[i, j] of "j right after i" inside an episode; the diagonal counts repetitions."""
    counts = np.zeros((n_actions, n_actions), np.int64)
    for episode in episodes:
        actions = _actions(episode)
        if actions.min() < 0 or actions.max() >= n_actions:
            raise InputError(
                f"an episode holds action {actions.min()} to {actions.max()}: "
                f"with n_actions={n_actions} they must lie in 0 to {n_actions - 1}"
            )
        np.add.at(counts, (actions[:-1], actions[1:]), 1)
    return counts


def summarise(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Every figure that is reported of a set of episodes, by name."""
    actions = [e.actions for e in episodes]
    told = [e.crashed for e in episodes if e.crashed is not None]
    return {
        "episodes": len(episodes),
        "return": _mean([e.reward for e in episodes]),
        "return_std": float(np.std([e.reward for e in episodes])) if episodes else float("nan"),
        "length": _mean([len(e) for e in episodes]),
        "oscillation_ratio": oscillation_ratio(actions),
        "reversal_ratio": reversal_ratio(actions),
        "mean_dwell": mean_dwell(actions),
        "termination_rate": _mean([e.terminated for e in episodes]),
        "crash_rate": _mean(told) if told else None,
    }


def _mean(values: Sequence[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
