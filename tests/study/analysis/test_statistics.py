from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

from policy_inertia import InputError
from policy_inertia.study.analysis.statistics import (
    Estimate,
    Statistic,
    curve,
    estimate,
    holm,
    interquartile_mean,
    iqm,
    leaders,
    mean_and_half_deviation,
    mean_and_t_interval,
    probability_of_improvement,
)

RNG = np.random.default_rng(7)
TASKS = [RNG.normal(1, 1, 9), RNG.normal(3, 2, 9), RNG.normal(0, 0.5, 9)]
OTHERS = [RNG.normal(0.5, 1, 9), RNG.normal(2, 2, 9), RNG.normal(0.2, 0.5, 9)]


@pytest.fixture
def rliable(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """rliable 1.2.0, made to work with arch 8.

    It passes `random_state` to its bootstrap, which arch 8 no longer takes; the arch that rliable
    requires cannot be imported with current pandas. The argument has no effect: rliable draws from
    NumPy's global generator, which is seeded here.
    """
    from arch.bootstrap import base

    for kind in (base.IIDBootstrap, base.IndependentSamplesBootstrap):

        def init(
            self: Any,
            *args: Any,
            random_state: Any = None,
            _original: Any = kind.__init__,
            **kwargs: Any,
        ) -> None:
            _original(self, *args, **kwargs)

        monkeypatch.setattr(kind, "__init__", init)
    from rliable import library, metrics  # type: ignore[import-untyped]

    np.random.seed(0)  # noqa: NPY002
    return library, metrics


def as_rliable(strata: Sequence[np.ndarray]) -> np.ndarray:
    return np.array(strata).T  # runs x tasks


def test_the_interquartile_mean_drops_a_quarter_at_each_end() -> None:
    assert iqm(np.array([8.0, 1, 2, 3, 100, 4, 5, 6])) == (3 + 4 + 5 + 6) / 4
    assert iqm(np.array([10.0, 1, 2, 3, 100])) == (2 + 3 + 10) / 3  # five seeds: the middle three
    assert iqm(np.array([1.0, 2, 6])) == 3  # three seeds: all


@pytest.mark.parametrize("n", range(1, 14))
def test_the_interquartile_mean_is_scipys_trimmed_mean(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(4, n))
    assert iqm(values) == pytest.approx(stats.trim_mean(values, 0.25, axis=1))


def test_students_interval_is_scipys_and_counts_the_worst_seed() -> None:
    values = [0.0, 0.1, 0.0, 1.0, 0.2]
    ours = mean_and_t_interval(values)
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert (ours.value, ours.low, ours.high) == pytest.approx((0.26, low, high))
    assert ours.p == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert mean_and_t_interval([2.0]).low is None
    assert mean_and_t_interval([2.0]).p is None
    assert mean_and_t_interval([2.0, 2.0]).p == 0
    assert mean_and_t_interval([0.0, 0.0]).p == 1


def test_holms_correction_worked_out_by_hand() -> None:
    # ranks 0.01 * 4, 0.02 * 3, 0.03 * 2 (not below the one before), 0.9 * 1
    assert holm([0.03, 0.9, 0.01, 0.02]) == pytest.approx([0.06, 0.9, 0.04, 0.06])
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_interval_of_two_seeds_is_the_one_worked_out_by_hand() -> None:
    # the means of (0, 0), (0, 1), (1, 0), (1, 1): the outer ones have a quarter each
    assert interquartile_mean([[0.0, 1.0]]) == Estimate(0.5, 0.0, 1.0, 2)
    assert interquartile_mean([[0.0, 1.0]], level=0.4).low == 0.5


def test_estimates_agree_with_rliable(rliable: tuple[Any, Any]) -> None:
    library, metrics = rliable
    scores = {"ours": as_rliable(TASKS)}
    points, intervals = library.get_interval_estimates(
        scores, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=5_000
    )
    ours = interquartile_mean(TASKS, repetitions=20_000)
    assert ours.value == pytest.approx(points["ours"][0])
    low, high = intervals["ours"][:, 0]
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.05 * (high - low))


def test_the_probability_of_improvement_agrees_with_rliable(rliable: tuple[Any, Any]) -> None:
    library, metrics = rliable
    pairs = {"ours,theirs": (as_rliable(TASKS), as_rliable(OTHERS))}
    points, intervals = library.get_interval_estimates(
        pairs, metrics.probability_of_improvement, reps=1_000
    )
    ours = probability_of_improvement(TASKS, OTHERS)
    assert ours.value == pytest.approx(float(points["ours,theirs"]))
    low, high = intervals["ours,theirs"].ravel()
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_the_interval_agrees_with_scipys_bootstrap() -> None:
    theirs = stats.bootstrap(
        (TASKS[0],),
        lambda x, axis: stats.trim_mean(x, 0.25, axis=axis),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = interquartile_mean([TASKS[0]], repetitions=20_000)
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


def test_the_bootstrap_draws_inside_each_task() -> None:
    # two tasks without variance: the distance between them adds no uncertainty
    ours = interquartile_mean([[0.0] * 4, [100.0] * 4])
    assert (ours.low, ours.value, ours.high) == (50, 50, 50)


def test_the_probability_of_improvement_counts_pairs_and_halves_ties() -> None:
    # of the six pairs ours wins 3 (2>1, 3>1, 3>2) and ties 1 (2=2)
    ours = probability_of_improvement([[2.0, 3.0]], [[1.0, 2.0, 4.0]])
    assert ours.value == pytest.approx(3.5 / 6)
    down = probability_of_improvement([[2.0, 3.0]], [[1.0, 2.0, 4.0]], higher_is_better=False)
    assert down.value == pytest.approx(2.5 / 6)
    sure = probability_of_improvement([[2.0, 3.0]], [[0.0, 1.0]])
    assert (sure.low, sure.value, sure.high) == (1, 1, 1)


def test_the_same_seed_gives_the_same_interval() -> None:
    assert interquartile_mean(TASKS, seed=3) == interquartile_mean(TASKS, seed=3)
    assert interquartile_mean(TASKS, seed=3) != interquartile_mean(TASKS, seed=4)


def test_the_papers_statistic_is_the_mean_and_half_a_standard_deviation() -> None:
    ours = estimate([[1.0, 2.0, 6.0]], "paper")
    half = np.sqrt((4 + 1 + 9) / 2) / 2
    assert (ours.low, ours.value, ours.high) == pytest.approx((3 - half, 3, 3 + half))
    assert mean_and_half_deviation([[0.0, 2.0], [4.0, 6.0]]).value == 3


def test_a_single_seed_has_no_interval() -> None:
    for statistic in get_args(Statistic):
        assert estimate([[4.0]], statistic) == Estimate(4.0, None, None, 1)
        centre, low, high = curve(np.array([[1.0, 2.0]]), statistic)
        assert centre.tolist() == [1, 2]
        assert low is None
        assert high is None
    assert probability_of_improvement([[4.0]], [[3.0, 5.0]]).low is None


@pytest.mark.parametrize(
    ("strata", "message"),
    [([], "no seed"), ([[]], "no seed"), ([[1.0, float("nan"), 2.0]], "1 of 3 seeds have no")],
)
def test_no_seeds_and_numbers_that_are_not_finite_are_refused(
    strata: list[list[float]], message: str
) -> None:
    for statistic in get_args(Statistic):
        with pytest.raises(InputError, match=message):
            estimate(strata, statistic)
    with pytest.raises(InputError, match=message):
        probability_of_improvement(strata, strata)


def test_only_the_same_tasks_can_be_compared() -> None:
    with pytest.raises(InputError, match="compare on the same tasks"):
        probability_of_improvement([[1.0], [2.0]], [[1.0]])


def test_a_curve_is_the_estimate_at_each_step() -> None:
    values = np.stack(TASKS).T[:5]  # 5 seeds, 3 steps
    centre, low, high = curve(values, repetitions=20_000)
    assert low is not None
    assert high is not None
    for t in range(3):
        step = interquartile_mean([values[:, t].tolist()], repetitions=20_000)
        assert (centre[t], low[t], high[t]) == pytest.approx((step.value, step.low, step.high))
    values[2, 1] = np.nan
    centre, low, _ = curve(values)
    assert low is not None
    assert np.isnan(centre).tolist() == np.isnan(low).tolist() == [False, True, False]


def test_a_curve_of_means_has_students_interval_at_each_step() -> None:
    values = np.random.default_rng(0).normal(size=(5, 3))
    centre, low, high = curve(values, "mean")
    assert low is not None
    assert high is not None
    for t in range(3):
        e = mean_and_t_interval(values[:, t])
        assert (centre[t], low[t], high[t]) == pytest.approx((e.value, e.low, e.high))


def test_best_needs_an_interval_apart_from_all_others() -> None:
    a, b, c = Estimate(5, 4, 6, 5), Estimate(2, 1, 3, 5), Estimate(4.2, 3.5, 4.9, 5)
    assert leaders([a, b, None], True) == ["best", "", ""]
    assert leaders([a, b, c], True) == ["tied", "", "tied"]
    assert leaders([a, b, c], False) == ["", "best", ""]
    assert leaders([a, Estimate(9, None, None, 1)], True) == ["", ""]
    assert leaders([a], True) == [""]
