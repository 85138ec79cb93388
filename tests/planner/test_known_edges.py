"""Figures of the planner that come with the package."""

from pathlib import Path

import pytest

from policy_inertia.actions.bucket import Limit
from policy_inertia.envs.highway.config import configuration
from policy_inertia.envs.highway.tasks.two_way import TASK
from policy_inertia.planner import known_edges
from policy_inertia.planner.edge_file import load_edge, save_edge
from policy_inertia.planner.known_edges import DEFAULTS, FOLDER, known_edge, named_edge
from policy_inertia.planner.upper_edge import UpperEdge

KWARGS = {"config": {"scenario": "simple"}}


def test_a_task_has_its_own_figures_from_the_smoothest_on() -> None:
    rows = known_edge("policy_inertia/TwoWay-v0", KWARGS)
    ratios = [row["oscillation_ratio"] or 0.0 for row in rows]
    assert ratios == sorted(ratios)
    edge = load_edge(FOLDER / "TwoWay-v0,scenario=simple.json")
    assert rows[-1]["return"] == pytest.approx(edge.within().summary()["return"])


def test_figures_within_a_limit_are_no_upper_edge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge = load_edge(FOLDER / "TwoWay-v0,scenario=simple.json")
    limited = UpperEdge(edge.env, edge.env_kwargs, edge.plans[:1], Limit(0.1, 2))
    save_edge(limited, tmp_path / "limited.json")
    monkeypatch.setattr(known_edges, "FOLDER", tmp_path)
    assert known_edge("policy_inertia/TwoWay-v0", KWARGS) == []


def test_other_tasks_have_none() -> None:
    assert known_edge("CartPole-v1", {}) == []
    assert known_edge("policy_inertia/TwoWay-v0", {"config": {"vehicles_count": 3}}) == []


def test_the_default_scenario_of_two_way_has_the_figures_of_that_scenario() -> None:
    (scenario,) = (d["config"]["scenario"] for d in DEFAULTS.values())
    assert configuration(TASK)["scenario"] == scenario
    (env,) = DEFAULTS
    rows = known_edge(env, {})
    assert rows
    assert rows == known_edge(env, {"config": {"scenario": scenario}})


def test_pictures_name_it_as_an_estimate_from_below() -> None:
    assert list(named_edge("policy_inertia/TwoWay-v0", KWARGS)) == [
        "planner that knows the future (an estimate from below)"
    ]
    assert named_edge("CartPole-v1", {}) == {}
