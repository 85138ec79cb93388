"""Our tasks run by highway-env itself."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from policy_inertia import InputError, Policy
from policy_inertia.envs import highway
from policy_inertia.policies.trained import trained_policies
from tests.support.highway_side_by_side import run


@pytest.mark.parametrize(
    ("task", "config"),
    [
        ("LaneChange", {"vehicles_count": [8, 14]}),
        ("Merge", {"speed_reward": "index"}),
        ("Intersection", {}),
        ("TwoWay", {}),
        ("TwoWay", {"idm_speed_limit": False, "collision_reward": -1, "duration": 6}),
    ],
)
def test_the_papers_episodes_are_the_same_in_both_simulators(
    task: str, config: dict[str, Any]
) -> None:
    report = run("originals", task, json.dumps(config))
    assert report["ends"] == 4
    assert report["difference"] <= 1e-9


def test_a_trained_policy_has_the_same_returns_in_both_simulators(trained: Path) -> None:
    report = run("policies", str(trained))
    assert report["returns"][0] == report["returns"][1]
    assert report["actions"][0] == report["actions"][1]
    assert len(set(report["returns"][0])) > 1  # equal episodes would prove little


def test_shipped_policies_of_each_method_have_the_same_figures_in_highway_env() -> None:
    """DQN, NSAC and the dial; Lane Change is left out: highway-env needs minutes for it."""
    names = [name for name in trained_policies() if not name.startswith("lane-change")]
    assert {Policy.load(name).method for name in names} == {"dqn", "nsac", "dial-dqn"}
    for name, (ours, original) in run("shipped", *names).items():
        assert ours == original, name
        assert ours["length"] > 1


def test_only_highway_tasks_run_in_highway_env() -> None:
    with pytest.raises(InputError, match="and the env here is CartPole-v1"):
        highway.on_original("CartPole-v1")


def test_a_step_before_the_reset_or_after_the_end_is_refused() -> None:
    env = highway.OriginalEnv("TwoWay", {"duration": 1})
    with pytest.raises(gym.error.ResetNeeded):
        env.step(1)
    env.reset(seed=0)
    assert env.step(1)[3]
    with pytest.raises(gym.error.ResetNeeded):
        env.step(1)
