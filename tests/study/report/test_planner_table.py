"""The planner's table in the docs is made from its committed episodes."""

from pathlib import Path

import pytest

from policy_inertia.envs.highway import TrafficEnv
from policy_inertia.envs.registry import task_of
from policy_inertia.planner.edge_file import load_edge
from policy_inertia.study.report.planner_table import planner_table

ROOT = Path(__file__).parents[3]
EDGES = ROOT / "src" / "policy_inertia" / "planner" / "edges"
FILES = {
    "Two-Way, simple": "TwoWay-v0,scenario=simple",
    "complex (60 m)": "TwoWay-v0,scenario=complex",
    "Merge": "Merge-v0",
    "Intersection": "Intersection-v0",
    "Lane Change": "LaneChange-v0",
}
BUDGETS = (0.05, 0.1, 0.15, 0.2, 0.3)


def test_the_table_in_the_docs_is_made_from_the_committed_episodes() -> None:
    edges = {name: load_edge(EDGES / f"{f}.json") for name, f in FILES.items()}
    assert planner_table(edges, BUDGETS) in (ROOT / "docs" / "highway.md").read_text()


@pytest.mark.parametrize("name", FILES.values())
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
