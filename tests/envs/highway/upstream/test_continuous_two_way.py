"""Two-Way with continuous actions: our simulator equals highway-env over whole episodes."""

import json
from typing import Any

import gymnasium as gym
import highway_env  # noqa: F401  (registers its envs)
import pytest

from policy_inertia.envs.highway import TrafficEnv, parity, to_upstream
from policy_inertia.envs.highway.upstream.continuous_two_way import ContinuousTwoWay
from tests.support.highway_side_by_side import run

STEERED = {"type": "ContinuousAction"}
EPISODE = {"duration": 15, "action": STEERED}  # as long as highway-env's own
# fewer ticks where there are more vehicles: highway-env needs its time for each
SCENARIOS = [
    EPISODE | {"scenario": "simple"},
    EPISODE | {"scenario": "complex", "simulation_frequency": 5},
    EPISODE | {"scenario": "dense", "simulation_frequency": 5},
]


def test_highway_env_cannot_reward_continuous_actions_in_two_way() -> None:
    config = {"observation": {"type": "Kinematics"}, "action": STEERED}
    with pytest.raises(AttributeError, match="speed_index"):
        gym.make("two-way-v0", config=config)


def test_whole_episodes_of_each_scenario_are_highway_envs_bit_for_bit() -> None:
    report = run("continuous_episodes", "TwoWay", json.dumps(SCENARIOS), "20")
    assert report["unequal"] == []
    assert report["episodes"] == 60
    for event in ("crashes", "off_road", "backwards", "turned"):
        assert report[event] >= 5, report  # else the episodes would prove little


@pytest.mark.parametrize(
    "options",
    [
        {"speed_range": [0, 32], "acceleration_range": [-20, 20], "steering_range": [-0.02, 0.03]},
        {"lateral": False, "clip": False},
    ],
)
def test_the_options_are_highway_envs(options: dict[str, Any]) -> None:
    config = {"action": STEERED | options, "policy_frequency": 3}
    result = parity("TwoWay", [3], 15, config)
    assert result.steps == 15
    assert result.exact, result


def test_both_simulators_go_on_in_the_same_way_after_the_bridge() -> None:
    report = run("continuous_bridges", "TwoWay", json.dumps({"action": STEERED}))
    assert report["same_config"] == [True, True]
    for result in report["to"]:
        assert result["difference"] == 0
        assert result["wrong"] == []
        assert result["steps"] > 3
    assert report["nudged"]["difference"] > 5e-8


def test_highway_env_draws_the_scene() -> None:
    env = TrafficEnv("TwoWay", {"action": STEERED}, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step([0.5, 0.02])
    after = env.render()
    assert before is not None
    assert after is not None
    assert (before != after).any()
    assert type(to_upstream(env)) is ContinuousTwoWay
    env.close()
