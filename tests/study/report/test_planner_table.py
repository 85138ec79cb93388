"""The planner's tables in the docs are made from its committed episodes."""

from dataclasses import replace
from pathlib import Path

import pytest

from policy_inertia.envs.highway import TrafficEnv
from policy_inertia.envs.registry import task_of
from policy_inertia.planner.edge_file import load_edge
from policy_inertia.study.report.planner_table import planner_limits_table, planner_table
from tests.support.switch_counter import violations_of_episodes

ROOT = Path(__file__).parents[3]
EDGES = ROOT / "src" / "policy_inertia" / "planner" / "edges"
FILES = {
    "Two-Way, simple": "TwoWay-v0,scenario=simple",
    "complex (60 m)": "TwoWay-v0,scenario=complex",
    "dense (40 m)": "TwoWay-v0,scenario=dense",
    "Merge": "Merge-v0",
    "Intersection": "Intersection-v0",
    "Lane Change": "LaneChange-v0",
}
LIMITED = {
    (0.1, 2.0): "TwoWay-v0,scenario=simple,rate=0.1,burst=2",
    (0.05, 4.0): "TwoWay-v0,scenario=simple,rate=0.05,burst=4",
    (0.1, 4.0): "TwoWay-v0,scenario=simple,rate=0.1,burst=4",
}
BUDGETS = (0.05, 0.1, 0.15, 0.2, 0.3)


def test_the_table_in_the_docs_is_made_from_the_committed_episodes() -> None:
    edges = {name: load_edge(EDGES / f"{f}.json") for name, f in FILES.items()}
    assert planner_table(edges, BUDGETS) in (ROOT / "docs" / "highway.md").read_text()


def test_the_table_within_limits_is_made_from_the_committed_episodes() -> None:
    edges = [load_edge(EDGES / f"{name}.json") for name in LIMITED.values()]
    free = load_edge(EDGES / f"{FILES['Two-Way, simple']}.json")
    starts = len(edges[0].plans)
    assert [p.seed for p in edges[0].plans] == [p.seed for p in free.plans[:starts]]
    edges.append(replace(free, plans=free.plans[:starts]))
    assert planner_limits_table(edges) in (ROOT / "docs" / "limits.md").read_text()


@pytest.mark.parametrize(("limit", "name"), LIMITED.items())
def test_committed_episodes_keep_their_limit_in_every_window(
    limit: tuple[float, float], name: str
) -> None:
    edge = load_edge(EDGES / f"{name}.json")
    assert edge.limit is not None
    assert (edge.limit.rate, edge.limit.burst) == limit
    episodes = [e.actions.tolist() for plans in edge.plans for e in plans.episodes]
    assert not violations_of_episodes(episodes, *limit)


@pytest.mark.parametrize("name", [*FILES.values(), *LIMITED.values()])
def test_a_committed_episode_is_what_the_simulator_does(name: str) -> None:
    edge = load_edge(EDGES / f"{name}.json")
    plan = edge.plans[0]
    for episode in plan.episodes:
        kwargs = task_of(edge.env).eval_env_kwargs | edge.env_kwargs
        env = TrafficEnv(edge.env.removeprefix("policy_inertia/").removesuffix("-v0"), **kwargs)
        env.reset(seed=plan.seed)
        steps = [env.step(action)[1:] for action in episode.actions]
        assert sum(reward for reward, *_ in steps) == pytest.approx(episode.return_)
        assert steps[-1][-1]["crashed"] == episode.crashed
        assert steps[-1][1] or steps[-1][2]
