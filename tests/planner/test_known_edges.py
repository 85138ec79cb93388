"""Figures of the planner that come with the package."""

import pytest

from policy_inertia.planner.edge_file import load_edge
from policy_inertia.planner.known_edges import FOLDER, known_edge

KWARGS = {"config": {"scenario": "simple"}}


def test_a_task_has_its_own_figures_from_the_smoothest_on() -> None:
    rows = known_edge("policy_inertia/TwoWay-v0", KWARGS)
    ratios = [row["oscillation_ratio"] or 0.0 for row in rows]
    assert ratios == sorted(ratios)
    edge = load_edge(FOLDER / "TwoWay-v0,scenario=simple.json")
    assert rows[-1]["return"] == pytest.approx(edge.within().summary()["return"])


def test_other_tasks_have_none() -> None:
    assert known_edge("CartPole-v1", {}) == []
    assert known_edge("policy_inertia/TwoWay-v0", {"config": {"vehicles_count": 3}}) == []
