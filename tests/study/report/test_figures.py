import dataclasses
from pathlib import Path

import numpy as np
import pytest

from policy_inertia.planner.known_edges import LABEL, known_edge
from policy_inertia.study.analysis import summary
from policy_inertia.study.report import figures
from policy_inertia.study.results import ExperimentResults, Results
from tests.support.synthetic_results import experiment, line, results


@pytest.fixture(scope="module")
def study() -> Results:
    return results()


def test_curves_show_oscillation_left_and_return_right(study: Results) -> None:
    figure = figures.curves(study.experiments[0], "Two-Way")
    assert [p.y_label for p in figure.panels] == ["oscillation ratio", "return"]
    assert [c.label for c in figure.panels[0].lines] == ["DQN", "SAC", "NSAC"]
    assert "5 seeds" in figure.caption
    drawn, own = figure.panels[1].lines[1], study.experiments[0].lines[1]
    last = sorted(c[-1]["eval/return"] for c in own.curves)
    assert drawn.y[-1] == pytest.approx(np.mean(last[1:4]))
    assert (drawn.low <= drawn.y).all()
    assert (drawn.y <= drawn.high).all()
    assert len({c.colour for c in figure.panels[0].lines}) == 3


def test_an_ablation_has_mean_mu_in_the_middle(study: Results) -> None:
    figure = figures.curves(study.experiments[1], "Two-Way")
    assert [p.y_label for p in figure.panels] == ["oscillation ratio", "mean mu", "return"]
    mixed = experiment(line("SAC"), line("NSAC", mu=0.5), ablation=True)
    assert [c.label for c in figures.curves(mixed, "Two-Way").panels[1].lines] == ["NSAC"]
    plain = experiment(line("SAC"), ablation=True)
    assert len(figures.curves(plain, "Two-Way").panels) == 2


def test_the_papers_shade_is_half_a_standard_deviation(study: Results) -> None:
    figure = figures.curves(study.experiments[0], "Two-Way", "paper")
    drawn, own = figure.panels[1].lines[0], study.experiments[0].lines[0]
    last = [c[-1]["eval/return"] for c in own.curves]
    assert drawn.high[-1] - drawn.y[-1] == pytest.approx(np.std(last, ddof=1) / 2)
    assert "half a standard deviation" in figure.caption


def test_the_pareto_figure_has_each_filters_whole_curve_and_the_crashes(study: Results) -> None:
    e = study.experiments[0]
    figure = figures.pareto(e, "Two-Way", summary.rows(e))
    assert [p.y_label for p in figure.panels] == ["return", "crash rate"]
    marked = [p for p in figure.panels[0].points if p.marker]
    assert [(p.label, p.hollow) for p in marked] == [
        ("DQN", False), ("", True), ("SAC", False), ("", True), ("NSAC", False), ("", True),
    ]  # fmt: skip
    curves = [c for c in figure.panels[0].lines if c.dots]
    assert [len(c.x) for c in curves] == [4, 4, 5, 5]  # unfiltered, then each threshold
    assert curves[2].x[0] == marked[2].x
    assert marked[2].x_interval is not None
    assert marked[2].x_interval[0] < marked[2].x < marked[2].x_interval[1]
    assert "SAC, filter 2" in [p.label for p in figure.panels[0].points]


def test_the_pareto_figure_has_the_planners_edge_of_a_task_that_it_knows(study: Results) -> None:
    e = study.experiments[0]
    figure = figures.pareto(e, "Two-Way", summary.rows(e))
    edges = [line for panel in figure.panels for line in panel.lines if line.label == LABEL]
    assert len(edges) == 2
    rows = known_edge("policy_inertia/TwoWay-v0", {})
    assert list(edges[0].y) == [row["return"] for row in rows]
    assert figure.caption.count(LABEL) == 1
    other = dataclasses.replace(line("SAC"), env="CartPole-v1")
    alone = figures.pareto(experiment(other), "Two-Way", summary.rows(experiment(other)))
    assert LABEL not in alone.caption


def test_an_env_that_reports_no_crashes_has_one_panel() -> None:
    e = experiment(line("SAC", crashes=None, seeds=1))
    figure = figures.pareto(e, "Two-Way", summary.rows(e))
    assert [p.y_label for p in figure.panels] == ["return"]
    assert "1 seed" in figure.caption
    assert figure.panels[0].points[0].y_interval is None


def test_runs_that_logged_nothing_have_no_curves() -> None:
    silent = line("SAC", seeds=2)
    silent.curves[1].clear()
    study = results(experiments=[experiment(silent)])
    drawn = figures.figures(study, summary.tabulate(study))
    assert [figure.kind for figure in drawn] == ["pareto"]


def test_figures_written_twice_have_the_same_bytes(tmp_path: Path) -> None:
    e = ExperimentResults("Own <Study>", "X", "", False, [line("SAC", seeds=2)])
    study = results(experiments=[e])
    for name in ("a", "b"):
        figures.write(study, tmp_path / name, summary.tabulate(study))
    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert files == [
        f"own-study-two-way-{kind}.{ending}"
        for kind in ("curves", "pareto")
        for ending in ("png", "svg")
    ]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
