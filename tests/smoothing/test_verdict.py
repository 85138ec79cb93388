"""Which policy is recommended, and why."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import Limit
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.estimates import t_interval
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.smoothing.verdict import (
    Candidate,
    Stakes,
    comparison_table,
    decide,
    decide_within,
    keep_core,
)
from tests.support.policies import fresh


def candidate(
    name: str, oscillation: float, return_: float, crashes: float = 0.0, spread: float = 0.0
) -> Candidate:
    """A candidate whose 100 episodes are alike, except for a spread and the share that crashes."""
    signs = np.where(np.arange(100) % 2, 1.0, -1.0)
    values = {
        "oscillation_ratio": np.full(100, oscillation),
        "return": return_ + spread * signs,
        "crash_rate": (np.arange(100) < 100 * crashes).astype(float),
    }
    figures = {key: float(v.mean()) for key, v in values.items()}
    policy: Any = None  # the verdict does not look at it
    intervals = {k: t_interval(v) or (0.0, 0.0) for k, v in values.items()}
    return Candidate(name, policy, figures, intervals, values)


CORE = candidate("core", 0.5, 10.0)
STAKES = Stakes(CORE, random_return=0.0, loss=0.05)


@pytest.mark.parametrize(
    ("hysteresis", "controller", "chosen", "reason"),
    [
        ((0.1, 9.7), (0.1, 9.9), "controller", "within the budget of 0.1"),
        ((0.1, 9.9), (0.1, 9.9), "hysteresis", "within the budget"),  # as good, and simpler
        ((0.1, 9.9), (0.1, 12.0, 0.2), "hysteresis", "it crashes in 20% of the episodes"),
        ((0.1, 9.4), (0.1, 9.6), "controller", "hysteresis is out, since it loses 6.0%"),
        ((0.1, 5.0), (0.1, 9.0), "core", "not met by any policy that is as good"),
        ((0.2, 9.9), (0.3, 9.9), "hysteresis", "not met by any policy"),
        ((0.2, 9.9), (0.1, 9.8), "controller", "hysteresis switches at 0.2"),
        ((0.1, 9.9), (0.1, 9.95, 0.02), "controller", "within"),  # 2 more crashes are noise
        ((0.1, 9.9, 0.0, 4.0), (0.1, 9.8), "controller", "only more episodes can exclude"),
    ],
)
def test_best_return_within_the_budget_without_more_crashes_is_recommended(
    hysteresis: tuple[float, ...], controller: tuple[float, ...], chosen: str, reason: str
) -> None:
    candidates = {
        "core": CORE,
        "hysteresis": candidate("hysteresis", *hysteresis),
        "controller": candidate("controller", *controller),
    }
    verdict = decide(candidates, 0.1, STAKES)
    assert verdict.name == chosen
    assert reason in str(verdict)
    assert verdict.met == ("not met" not in str(verdict))


def test_policy_above_the_budget_is_never_called_within_it() -> None:
    ratios = np.where(np.arange(100) % 2, 0.181, 0.381)  # the interval reaches down to 0.275
    noisy = candidate("hysteresis", 0.281, 10.0)
    noisy.values["oscillation_ratio"][:] = ratios
    verdict = decide({"core": CORE, "hysteresis": noisy}, 0.275, STAKES)
    assert "switches at 0.281 of the steps (the budget of 0.275 is not met" in str(verdict)
    assert not verdict.met


def test_verdict_names_the_loss_with_its_interval_as_a_share_of_the_gain_over_random() -> None:
    stakes = Stakes(candidate("core", 0.5, -80.0), random_return=-500.0, loss=0.05)
    near = candidate("controller", 0.1, -90.0, spread=10.0)  # 12% of |return|, 2.4% of the gain
    verdict = decide({"core": stakes.core, "controller": near}, 0.1, stakes)
    assert verdict.name == "controller"
    assert "it loses 2.4% [1.9%, 2.9%] of what the core gains over random actions" in str(verdict)
    assert "(core: 0.5, -80; random actions return -500)" in str(verdict)
    far = candidate("controller", 0.1, -110.0)  # 7.1% of the gain
    assert decide({"core": stakes.core, "controller": far}, 0.1, stakes).name == "core"


def test_return_near_zero_does_not_make_every_loss_large() -> None:
    stakes = Stakes(candidate("core", 0.5, 0.1), random_return=-200.0, loss=0.05)
    near = candidate("controller", 0.1, -1.0)
    assert decide({"core": stakes.core, "controller": near}, 0.1, stakes).name == "controller"


def test_gain_is_named_as_one() -> None:
    better = candidate("controller", 0.1, 30.0)
    verdict = decide({"core": CORE, "controller": better}, 0.1, STAKES)
    assert "it gains 200.0% [200.0%, 200.0%]" in str(verdict)


def test_core_that_is_no_better_than_random_may_lose_nothing() -> None:
    stakes = Stakes(CORE, random_return=12.0, loss=0.05)
    candidates = {"core": CORE, "controller": candidate("controller", 0.1, 9.9)}
    verdict = decide(candidates, 0.1, stakes)
    assert verdict.name == "core"
    assert "controller is out, since it loses 0.1 [0.1, 0.1]" in str(verdict)
    assert stakes.loss_of(candidates["controller"]).to_dict()["mean"] is None


def test_core_that_meets_the_budget_by_its_bound_needs_nothing() -> None:
    assert STAKES.meets(CORE, 0.5)
    assert not STAKES.meets(CORE, 0.49)
    verdict = keep_core(STAKES, 0.6)
    assert (verdict.name, verdict.met) == ("core", True)
    assert "it already meets the budget of 0.6" in str(verdict)


def test_within_a_limit_the_best_return_is_recommended_and_a_loss_is_named() -> None:
    limit = Limit(0.1, 2)
    candidates = {"core": CORE, "filter": candidate("filter", 0.1, 9.0)}
    lossy = decide_within(candidates, limit, STAKES)
    assert (lossy.name, lossy.met) == ("filter", False)
    assert "no policy within the limit is as good as the core" in str(lossy)
    candidates["controller"] = candidate("controller", 0.1, 9.9)
    verdict = decide_within(candidates, limit, STAKES)
    assert (verdict.name, verdict.met) == ("controller", True)
    assert "it loses 1.0% [1.0%, 1.0%]" in str(verdict)
    assert "filter is out, since it loses 10.0%" in str(verdict)


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
