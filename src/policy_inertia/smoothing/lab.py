"""The episodes of `smooth`: held-out ones for the verdict, others to calibrate and to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.budget import closest_to_budget
from policy_inertia.calibration.filter_sweep import calibrate_filter
from policy_inertia.calibration.first_settings import first_settings
from policy_inertia.calibration.matched import best_at, rows_around
from policy_inertia.calibration.measurements import Counter, Episodes
from policy_inertia.calibration.sweep import calibrate, refine
from policy_inertia.envs.vector import Envs
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.metrics.measures import RETURN, Evaluation
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.policies.random_actions import RandomActions
from policy_inertia.run_settings import RunConfig
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.smoothing.measured import Measured
from policy_inertia.smoothing.safety import BATCH, SafetyTests
from policy_inertia.smoothing.verdict import Candidate

MOST_TESTED = 10  # times the held-out episodes, for the test of one candidate's loss
EVERY = 2  # of the first settings, where several controllers are compared

Watch = Callable[[str, int, int], None]
"""Called with the name of a stage, the number of its finished parts, and of all its parts."""


class Lab:
    """Runs policies in the envs of one comparison.

    Args:
        envs: Open envs.
        config: Seeds, and the number of episodes for calibration.
        episodes: Number of held-out episodes.
        watch: Called as each stage goes on.
        measured: What is known from another budget.
    """

    def __init__(
        self,
        envs: Envs,
        config: RunConfig,
        episodes: int,
        watch: Watch | None = None,
        measured: Measured | None = None,
    ) -> None:
        self.envs, self.config, self.episodes, self._watch = envs, config, episodes, watch
        self.measured = Measured() if measured is None else measured
        self.safety: SafetyTests | None = None
        """What tests every further candidate; None to compare intervals only."""

    def watch(self, stage: str, done: int, of: int) -> None:
        """Tell how far a stage is."""
        if self._watch is not None:
            self._watch(stage, done, of)

    def candidate(self, name: str, policy: Any) -> Candidate:
        """Evaluate a policy on the held-out episodes."""
        candidate = Candidate.of_evaluation(name, policy, self._held_out(policy, name))
        if self.safety is None:
            return candidate
        self.watch(f"testing {name}", 0, 1)
        safety = self.safety.test(policy)
        self.watch(f"testing {name}", 1, 1)
        return replace(candidate, safety=safety)

    def random_returns(self, masked: bool = False) -> np.ndarray:
        """The returns of random actions, one per episode; `masked`: among allowed actions."""
        actions = RandomActions(self.envs.spaces.actions, masked)
        return _returns(self._held_out(actions, "random actions"))

    def test_safety(
        self, core: Candidate, random: np.ndarray, loss: float, confidence: float
    ) -> None:
        """Test every further candidate for its loss; see `safety`.

        Args:
            core: The core.
            random: The returns of random actions, as `random_returns` gives them.
            loss: Largest share of what the core gains over random actions.
            confidence: The confidence with which a larger loss is excluded.
        """
        self.safety = SafetyTests.within(
            np.concatenate([core.values[RETURN.name], random]),
            self._test_returns,
            core.policy,
            RandomActions(self.envs.spaces.actions, core.policy.spaces.masked),
            loss=loss,
            error=1 - confidence,
            most=MOST_TESTED * self.episodes,
        )

    def _test_returns(self, policy: Predictor, batch: int) -> np.ndarray:
        seed = stream_seed(self.config.seed, Stream.SAFETY, batch)
        return _returns(evaluate(policy, self.envs, BATCH, seed, deterministic=True))

    def _held_out(self, policy: Predictor, name: str) -> Evaluation:
        self.watch(f"evaluating {name}", 0, 1)
        first = stream_seed(self.config.seed, Stream.HELD_OUT)
        evaluation = evaluate(policy, self.envs, self.episodes, first, deterministic=True)
        self.watch(f"evaluating {name}", 1, 1)
        return evaluation

    def calibrated(self, policy: Policy, name: str) -> Policy:
        """Measure a policy at every setting, on the episodes of calibration."""
        episodes, seed = self.config.calibration_episodes, self.config.seed
        return self.measured.once(
            policy,
            lambda: calibrate(policy, self.envs, episodes, seed, progress=self.counting(name)),
        )

    def calibrated_filter(self, policy: ContinuousCore, name: str) -> ContinuousCore:
        """Measure the whole curve of a filter, on the episodes of calibration."""
        episodes, seed = self.config.calibration_episodes, self.config.seed
        return calibrate_filter(policy, self.envs, episodes, seed, progress=self.counting(name))

    def closest(self, policy: Policy, name: str, budget: float) -> Policy:
        """A calibrated policy as loose as a budget allows, by more settings around it."""
        refined = refine(
            policy, self.envs, budget, progress=partial(self.watch, f"refining {name}")
        )
        return closest_to_budget(refined, budget)

    def counting(self, name: str) -> Callable[[int, int], None]:
        """The progress of a calibration."""
        return lambda done, of: self.watch(f"calibrating {name}", done, of)

    def best_at_budget(self, policies: Sequence[Policy], budget: float) -> int:
        """The policy with the highest return at an oscillation ratio, on episodes for choosing."""
        if len(policies) == 1:
            return 0
        curves = []
        count = Counter(
            lambda done, of: self.watch("choosing a controller", done, of), 4 * len(policies)
        )
        count.start()
        episodes = self._selection(count)
        for policy in policies:
            settings = first_settings(policy, episodes.run)[::EVERY]
            curves.append(rows_around(settings, partial(episodes.row, policy), budget))
        count.finish()
        return best_at(curves, budget)

    def best_within(self, policies: Sequence[Policy], limit: Limit) -> int:
        """The policy with the highest return within a limit, on episodes for choosing."""
        if len(policies) == 1:
            return 0
        returns = []
        episodes = self._selection()
        for done, policy in enumerate(policies, 1):
            returns.append(episodes.run(policy.within(limit)).summary()[RETURN.name])
            self.watch("choosing a controller", done, len(policies))
        return int(np.argmax(returns))

    def _selection(self, count: Counter | None = None) -> Episodes:
        config = self.config
        return Episodes(
            self.envs, config.calibration_episodes, config.seed, Stream.SELECTION, count
        )


def _returns(evaluation: Evaluation) -> np.ndarray:
    return np.array([episode.return_ for episode in evaluation.episodes])
