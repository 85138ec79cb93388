"""Configurations: the paper's table, highway-env's defaults, and one sentence for each error."""

import math
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.envs.highway import TASKS, TrafficEnv, configuration
from policy_inertia.envs.highway.tasks import task_named

STEERED = {"type": "ContinuousAction"}


def test_the_papers_table_is_the_default_preset() -> None:
    papers = {name: TrafficEnv(name).config for name in TASKS}

    def row(key: str) -> list[Any]:
        return [
            papers[name].get(key, 0) for name in ("LaneChange", "Merge", "Intersection", "TwoWay")
        ]

    assert row("collision_reward") == [-1, -1, 0, 0]
    assert row("right_lane_reward") == [0, 0.1, 0, 0]
    assert row("high_speed_reward") == [0.4, 0.2, 0, 0.8]
    assert row("lane_change_reward") == [-0.1, -0.05, 0, 0]
    assert row("merging_speed_reward") == [0, -0.5, 0, 0]
    assert row("arrived_reward") == [0, 0, 5, 0]
    assert row("left_lane_constraint") == [0, 0, 0, 1]
    assert row("left_lane_reward") == [0, 0, 0, 0.2]
    assert row("duration") == [70, 25, 25, 25]
    assert [c["observation"]["vehicles_count"] for c in papers.values()] == [10, 10, 5, 10]


def test_the_paper_tests_lane_change_with_45_vehicles() -> None:
    assert TrafficEnv("LaneChange").config["vehicles_count"] == [20, 50]
    assert TrafficEnv("LaneChange", preset="paper-test").config["vehicles_count"] == 45
    assert TrafficEnv("Merge", preset="paper-test").config == TrafficEnv("Merge").config


@pytest.mark.parametrize(
    ("task", "config", "message"),
    [
        ("LaneChange", {"vehicle_count": 3}, "did you mean 'vehicles_count'"),
        ("LaneChange", {"vehicles_count": 0}, "from 1 to 1000, got 0"),
        ("LaneChange", {"vehicles_count": 10**9}, "from 1 to 1000"),
        ("LaneChange", {"vehicles_count": 2.5}, "whole number"),
        ("LaneChange", {"vehicles_count": [9, 3]}, "least, most"),
        ("LaneChange", {"vehicles_count": [1, 2, 3]}, "least, most"),
        ("LaneChange", {"vehicles_count": "many"}, "whole number"),
        ("LaneChange", {"lanes_count": 0}, "lanes_count"),
        ("LaneChange", {"lanes_count": 21}, "from 1 to 20"),
        ("LaneChange", {"initial_lane_id": 4}, "from 0 to 3"),
        ("LaneChange", {"policy_frequency": 4}, "a multiple of policy_frequency"),
        ("LaneChange", {"policy_frequency": 0}, "policy_frequency"),
        ("LaneChange", {"simulation_frequency": -15}, "simulation_frequency"),
        ("LaneChange", {"duration": -1}, "duration"),
        ("LaneChange", {"collision_reward": math.nan}, "collision_reward"),
        ("LaneChange", {"vehicles_density": 0}, "vehicles_density"),
        ("LaneChange", {"reward_speed_range": [30, 20]}, "low below high"),
        ("LaneChange", {"speed_reward": "fast"}, "one of speed, index"),
        ("LaneChange", {"controlled_vehicles": 2}, "must be 1 here"),
        ("LaneChange", {"observation": {"type": "OccupancyGrid"}}, "must be 'Kinematics'"),
        ("LaneChange", {"observation": {"features": ["x", "colour"]}}, "no feature 'colour'"),
        ("LaneChange", {"observation": {"vehicles_count": 0}}, "vehicles_count"),
        ("LaneChange", {"observation": {"vehicle_count": 3}}, "observation has no setting"),
        ("LaneChange", {"observation": 3}, "must be a dictionary"),
        ("LaneChange", {"action": {"type": "ContinuousAction"}}, "DiscreteMetaAction"),
        ("Merge", {"action": {"type": "ContinuousAction"}}, "Merge has no continuous actions"),
        ("TwoWay", {"action": {"type": "DiscreteAction"}}, "one of DiscreteMetaAction, Continu"),
        ("TwoWay", {"action": {"type": ["ContinuousAction"]}}, "type must be one of"),
        ("TwoWay", {"action": {"steering_range": [-1, 1]}}, "action has no setting"),
        ("TwoWay", {"action": STEERED | {"target_speeds": [20, 30]}}, "action has no setting"),
        ("TwoWay", {"action": STEERED | {"steering": [-1, 1]}}, "did you mean 'steering_range'"),
        ("TwoWay", {"action": STEERED | {"steering_range": [1, -1]}}, "low below high"),
        ("TwoWay", {"action": STEERED | {"acceleration_range": 5}}, "two numbers"),
        ("TwoWay", {"action": STEERED | {"speed_range": [10, 30]}}, "must contain 0"),
        ("TwoWay", {"action": STEERED | {"speed_range": [0, 50]}}, "within -40 and 40"),
        ("TwoWay", {"action": STEERED | {"dynamical": True}}, "dynamical must be False here"),
        ("TwoWay", {"action": STEERED | {"clip": 2}}, "clip must be True or False"),
        ("TwoWay", {"action": STEERED | {"lateral": False, "longitudinal": False}}, "neither"),
        ("TwoWay", {"action": STEERED, "speed_reward": "index"}, "have no target speed"),
        ("LaneChange", {"action": {"lateral": False, "longitudinal": False}}, "neither"),
        ("LaneChange", {"action": {"target_speeds": [20]}}, "target_speeds"),
        ("LaneChange", {"action": {"target_speeds": [30, 20]}}, "must rise"),
        ("LaneChange", {"observation": {"features": "xy"}}, "features must be"),
        ("LaneChange", {"collision_reward": 0.4}, "is above the worst"),
        ("Merge", {"high_speed_reward": -9}, "is above the worst"),
        ("Merge", {"vehicles_count": 3}, "from 4 to 50"),
        ("TwoWay", {"vehicles_count": 16}, "from 1 to 15"),
        ("TwoWay", {"scenario": "hard"}, "one of simple, complex, dense"),
        ("Intersection", {"destination": "o0"}, "o1, o2, o3"),
        ("Intersection", {"spawn_probability": 1.5}, "from 0 to 1"),
        ("Intersection", {"simulation_frequency": 1}, "2 or more"),
        ("Intersection", {"initial_vehicle_count": 0}, "initial_vehicle_count"),
    ],
)
def test_bad_settings_are_refused(task: str, config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        TrafficEnv(task, config)
    assert "\n" not in str(error.value)


def test_another_type_of_action_has_its_own_settings() -> None:
    action = configuration(TASKS["TwoWay"], {"action": STEERED | {"clip": False}})["action"]
    assert action == {
        "type": "ContinuousAction",
        "acceleration_range": [-5, 5],
        "steering_range": [-math.pi / 4, math.pi / 4],
        "speed_range": None,
        "longitudinal": True,
        "lateral": True,
        "dynamical": False,
        "clip": False,
    }
    given_twice = configuration(TASKS["TwoWay"], {"action": action})["action"]
    assert given_twice == action


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'TwoWay'"):
        TrafficEnv("TwoWays")
    with pytest.raises(InputError, match="no preset"):
        TrafficEnv("TwoWay", preset="papers")
    with pytest.raises(InputError, match="config must be a dictionary"):
        TrafficEnv("TwoWay", "simple")  # type: ignore[arg-type]


def test_a_task_is_known_by_each_of_its_names() -> None:
    for name in ("Merge", "merge-v0", "policy_inertia/Merge-v0"):
        assert task_named(name) is TASKS["Merge"]
    assert [task.name for task in TASKS.values()] == list(TASKS)


def test_only_given_settings_about_drawing_are_in_the_configuration() -> None:
    full = configuration(TASKS["Merge"], {"screen_width": 300, "manual_control": False})
    assert full["screen_width"] == 300
    assert "screen_height" not in full
    assert "manual_control" not in full


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"screen_width": 0}, "screen_width must be a whole number from 16 to 8192, got 0"),
        ({"screen_height": 1e9}, "screen_height"),
        ({"scaling": -1}, "scaling"),
        ({"centering_position": [0.5]}, "centering_position must be two shares"),
        ({"centering_position": [0.5, "x"]}, "centering_position"),
        ({"real_time_rendering": 1}, "real_time_rendering must be True or False"),
        ({"offscreen_rendering": "yes"}, "offscreen_rendering must be True or False"),
    ],
)
def test_a_bad_setting_about_drawing_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configuration(TASKS["Merge"], config)


def test_presets_are_not_shared_between_envs() -> None:
    TrafficEnv("Merge").config["observation"]["features"].append("cos_h")
    assert len(TrafficEnv("Merge").config["observation"]["features"]) == 5
