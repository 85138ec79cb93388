"""The settings that a calibration measures first: prices, rates or thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.actions.per_head import per_head
from policy_inertia.algorithms.controllers.prices import DECADES
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor

SETTINGS = 16  # first settings; refinement adds at most as many again
MARGINS = (0.1, 0.01)  # first margins of a dial, as shares of its largest price
STRICT = (0, 0.25, 0.5, 0.7, 0.8, 0.85, 0.9, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 1)
"""Quantiles of gaps that are closer together where a policy hardly ever switches: hysteresis at a
quantile of 0.95 leaves about one switch in 20 steps."""
RATES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0)  # first rates of a limit

RunEpisodes = Callable[[Predictor], Any]
"""Run the episodes of the calibration with a policy."""


def first_settings(
    policy: Policy, run_episodes: RunEpisodes, name: str | None = None
) -> list[float]:
    """Return the settings to measure first, from the loosest to the smoothest.

    Args:
        policy: The policy.
        run_episodes: Runs episodes: thresholds of hysteresis depend on the scores in them.
        name: "price", "rate" or "threshold"; by default the policy's own.
    """
    return FIRST_SETTINGS[name or policy.setting_name](policy, run_episodes)


def _first_prices(policy: Policy, run_episodes: RunEpisodes) -> list[float]:
    """The core, margins, 0, and prices spread evenly in their logarithm over the learned range."""
    if not policy.largest_price:
        return [0.0]
    spread = np.logspace(-DECADES, 0, SETTINGS - 1)
    shares = [-1.0, *(-margin for margin in MARGINS), 0.0, *spread]
    return (policy.largest_price * np.array(shares)).tolist()


def _first_rates(policy: Policy, run_episodes: RunEpisodes) -> list[float]:
    """From no limit to no new tokens."""
    return list(RATES)


def _first_thresholds(policy: Policy, run_episodes: RunEpisodes) -> list[float]:
    """0, and quantiles of the gaps between the scores of the policy's actions."""
    return _thresholds(policy, run_episodes, np.linspace(0, 1, SETTINGS))


def strict_thresholds(policy: Policy, run_episodes: RunEpisodes) -> list[float]:
    """Return thresholds of hysteresis for tight budgets: most of them let few switches through.

    Args:
        policy: The policy.
        run_episodes: Runs episodes.
    """
    return _thresholds(policy, run_episodes, np.array(STRICT))


def _thresholds(policy: Policy, run_episodes: RunEpisodes, levels: np.ndarray) -> list[float]:
    """0, and the quantiles of the gaps at these levels but the first."""
    gaps = _Gaps(policy)
    run_episodes(gaps)
    return gaps.quantiles(levels)


FIRST_SETTINGS: dict[str, Callable[[Policy, RunEpisodes], list[float]]] = {
    "price": _first_prices,
    "rate": _first_rates,
    "threshold": _first_thresholds,
}
"""The settings that are measured first, by their name."""


class _Gaps:
    """The policy, recording by how much the score of its best action beats the others."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.masked = policy.replace(hysteresis=None), policy.masked
        self.gaps: list[np.ndarray] = []

    def predict(
        self,
        observation: ArrayLike,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, State]:
        rows = np.asarray(observation)
        memory = self.policy.memory.at(state, len(rows), episode_start)
        obs, _ = self.policy.spaces.encode_with(rows, memory, action_masks)
        tokens = self.policy.tokens(memory)
        scores = self.policy.acting(obs, memory[PREVIOUS_ACTION], tokens).scores
        actions = self.policy.spaces.actions
        gaps = per_head(lambda part: part.max(1, keepdims=True) - part, scores, actions)
        self.gaps.append(gaps[(gaps > 0) & ~is_forbidden(scores)])
        return self.policy.predict(
            observation, state, episode_start, deterministic, action_masks=action_masks
        )

    def quantiles(self, levels: np.ndarray) -> list[float]:
        """0, and the quantiles of the gaps at these levels but the first."""
        gaps = np.concatenate(self.gaps)
        if not len(gaps):
            return [0.0]
        return [0.0, *np.unique(np.quantile(gaps, levels[1:])).tolist()]
