import numpy as np
import pytest

from policy_inertia.study.analysis import summary
from policy_inertia.study.report import figures
from policy_inertia.study.results import Experiment
from tests.support.synthetic_results import results, series


@pytest.fixture(scope="module")
def made():
    return results()


def test_curves_show_oscillation_left_and_return_right(made):
    figure = figures.curves(made.experiments[0], "Two-Way")
    assert [p.y_label for p in figure.panels] == ["oscillation ratio", "return"]
    assert [line.label for line in figure.panels[0].lines] == ["DQN", "SAC", "NSAC"]
    assert "5 seeds" in figure.caption
    line, own = figure.panels[1].lines[1], made.experiments[0].series[1]
    last = sorted(c[-1]["eval/mean_reward"] for c in own.curves)
    assert line.y[-1] == pytest.approx(np.mean(last[1:4]))
    assert (line.low <= line.y).all()
    assert (line.y <= line.high).all()
    assert len({line.colour for line in figure.panels[0].lines}) == 3


def test_ablation_has_mean_mu_in_the_middle(made):
    figure = figures.curves(made.experiments[1], "Two-Way")
    assert [p.y_label for p in figure.panels] == ["oscillation ratio", "mean mu", "return"]
    mixed = Experiment("x", "X", "", True, [series("SAC"), series("NSAC", mu=0.5)])
    assert [line.label for line in figures.curves(mixed, "Two-Way").panels[1].lines] == ["NSAC"]
    plain = Experiment("x", "X", "", True, [series("SAC")])
    assert len(figures.curves(plain, "Two-Way").panels) == 2


def test_papers_shade_is_half_a_standard_deviation(made):
    figure = figures.curves(made.experiments[0], "Two-Way", "paper")
    line, own = figure.panels[1].lines[0], made.experiments[0].series[0]
    last = [c[-1]["eval/mean_reward"] for c in own.curves]
    assert line.high[-1] - line.y[-1] == pytest.approx(np.std(last, ddof=1) / 2)
    assert "half a standard deviation" in figure.caption


def test_pareto_has_the_whole_curve_of_the_filter_and_the_crashes(made):
    e = made.experiments[0]
    figure = figures.pareto(e, "Two-Way", summary.rows(e))
    assert [p.y_label for p in figure.panels] == ["return", "crash rate"]
    marked = [p for p in figure.panels[0].points if p.marker]
    assert [(p.label, p.hollow) for p in marked] == [
        ("DQN", False), ("", True), ("SAC", False), ("", True), ("NSAC", False), ("", True),
    ]  # fmt: skip
    lines = figure.panels[0].lines
    assert [len(line.x) for line in lines] == [4, 4, 5, 5]  # as it is, and each threshold
    assert lines[2].x[0] == marked[2].x
    assert marked[2].x_interval[0] < marked[2].x < marked[2].x_interval[1]
    assert "SAC, filter 2" in [p.label for p in figure.panels[0].points]


def test_env_that_tells_no_crashes_has_one_panel():
    e = Experiment("x", "X", "", False, [series("SAC", crash=None, seeds=1)])
    figure = figures.pareto(e, "Two-Way", summary.rows(e))
    assert [p.y_label for p in figure.panels] == ["return"]
    assert "1 seed" in figure.caption
    assert figure.panels[0].points[0].y_interval is None


def test_runs_that_logged_nothing_have_no_curves():
    silent = series("SAC", seeds=2)
    silent.curves[1].clear()
    made = results(experiments=[Experiment("x", "X", "", False, [silent])])
    drawn = figures.figures(made, summary.tabulate(made))
    assert [figure.kind for figure in drawn] == ["pareto"]


def test_figures_are_written_the_same_twice(tmp_path):
    e = Experiment("Own <Study>", "X", "", False, [series("SAC", seeds=2)])
    made = results(experiments=[e])
    for name in ("a", "b"):
        figures.write(made, tmp_path / name, summary.tabulate(made))
    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert files == [
        f"own-study-two-way-{kind}.{ending}"
        for kind in ("curves", "pareto")
        for ending in ("png", "svg")
    ]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
