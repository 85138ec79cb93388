"""Which policy is recommended, and why."""

from typing import Any

import numpy as np
import pytest

from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.smoothing.verdict import Candidate, comparison_table, decide, interval
from tests.support.policies import fresh


def candidate(name: str, oscillation: float, return_: float, crashes: float = 0.0) -> Candidate:
    """A candidate whose 100 episodes are alike, except for the share that crashes."""
    values = {
        "oscillation_ratio": np.full(100, oscillation),
        "return": np.full(100, return_),
        "crash_rate": (np.arange(100) < 100 * crashes).astype(float),
    }
    figures = {key: float(v.mean()) for key, v in values.items()}
    policy: Any = None  # the verdict does not look at it
    return Candidate(name, policy, figures, {k: interval(v) for k, v in values.items()}, values)


@pytest.mark.parametrize(
    ("hysteresis", "controller", "chosen", "reason"),
    [
        ((0.1, 9.7), (0.1, 9.9), "controller", "within the budget of 0.1"),
        ((0.1, 9.9), (0.1, 9.9), "hysteresis", "within the budget"),  # as good, and simpler
        ((0.1, 9.9), (0.1, 12.0, 0.2), "hysteresis", "it crashes in 20% of the episodes"),
        ((0.1, 9.4), (0.1, 9.6), "controller", "hysteresis is out, since its return is 9.4"),
        ((0.1, 5.0), (0.1, 9.0), "core", "not met by any policy that is as good"),
        ((0.2, 9.9), (0.3, 9.9), "hysteresis", "not met by any policy"),
        ((0.2, 9.9), (0.1, 9.8), "controller", "hysteresis switches at 0.2"),
        ((0.1, 9.9), (0.1, 9.95, 0.02), "controller", "within"),  # 2 more crashes are noise
    ],
)
def test_best_return_within_the_budget_without_more_crashes_is_recommended(
    hysteresis: tuple[float, ...], controller: tuple[float, ...], chosen: str, reason: str
) -> None:
    candidates = {
        "core": candidate("core", 0.5, 10.0),
        "hysteresis": candidate("hysteresis", *hysteresis),
        "controller": candidate("controller", *controller),
    }
    verdict = decide(candidates, 0.1, 0.05)
    assert verdict.name == chosen
    assert reason in str(verdict)


def test_interval_of_a_mean_is_normal_for_many_episodes() -> None:
    values = np.random.default_rng(1).normal(3, 2, 400)
    low, high = interval(values)
    half = 1.96 * values.std() / 20
    assert abs(low - (values.mean() - half)) < 0.03
    assert abs(high - (values.mean() + half)) < 0.03


def test_candidate_has_every_measure_and_intervals_of_means_over_episodes() -> None:
    episodes = [Episode(float(i), np.arange(10) % 2 * (i > 2), False, None) for i in range(6)]
    own = Candidate.of_evaluation("core", fresh("dqn"), Evaluation(episodes))
    assert own.figures["return"] == 2.5
    assert own.figures["oscillation_ratio"] == pytest.approx(0.45)
    assert own.intervals["return"][0] < 2.5 < own.intervals["return"][1]
    assert "mean_dwell" not in own.intervals  # no mean over episodes
    assert "crash_rate" not in own.values  # the env does not report crashes


def test_table_has_a_column_for_each_headline_measure() -> None:
    episodes = [Episode(12.0, np.zeros(10, int), True, False)] * 3
    table = comparison_table(
        [
            Candidate.of_evaluation("core", fresh("dqn"), Evaluation(episodes)),
            Candidate.of_evaluation(
                "hysteresis", fresh("dqn").with_hysteresis(0.25), Evaluation(episodes)
            ),
        ]
    )
    head, core, hysteresis = table.splitlines()
    assert head.split("  ")[-1].strip() == "crash rate"
    assert "12.00 [12.00, 12.00]" in core
    assert hysteresis.startswith("hysteresis  threshold 0.25")
