import numpy as np
import pytest

from policy_inertia.metrics.measures import MU, OSCILLATION, RETURN
from policy_inertia.study.analysis.learning_curves import aligned, learning_curves
from policy_inertia.study.results import Results
from tests.support.synthetic_results import line


def test_curves_are_as_long_as_the_shortest_run_and_may_have_holes() -> None:
    long = [{"step": 0, "x": 1}, {"step": 5, "x": 2}, {"step": 9, "x": 3}]
    steps, values = aligned([long, [{"step": 0}, {"step": 5, "x": 4}]], "x")
    assert steps.tolist() == [0, 5]
    assert values[:, 1].tolist() == [2, 4]
    assert values[0, 0] == 1
    assert np.isnan(values[1, 0])


def test_a_curve_is_the_interquartile_mean_over_seeds_at_each_evaluation() -> None:
    sac = line("SAC")
    (curve,) = learning_curves([sac], RETURN)
    assert curve is not None
    last = sorted(c[-1]["eval/return"] for c in sac.curves)
    assert curve.centre[-1] == pytest.approx(np.mean(last[1:4]))
    assert curve.low is not None
    assert curve.high is not None
    assert (curve.low <= curve.centre).all()
    assert (curve.centre <= curve.high).all()


def test_real_runs_log_every_measure_that_a_curve_shows(two_methods: Results) -> None:
    lines = two_methods.experiments[0].lines
    for measure in (RETURN, OSCILLATION):
        assert None not in learning_curves(lines, measure)
    assert [c and c.label for c in learning_curves(lines, MU)] == [None, "NSAC"]


def test_a_line_without_a_controller_has_no_curve_of_mu() -> None:
    curves = learning_curves([line("SAC"), line("NSAC", mu=0.5)], MU)
    assert [c and c.label for c in curves] == [None, "NSAC"]
