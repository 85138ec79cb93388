"""Our simulator equals highway-env, step by step, past crashes too."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.envs.highway import TASKS
from policy_inertia.envs.highway.upstream.parity import Parity, _gap, parity

FEW = {"vehicles_count": 15}  # highway-env needs seconds for a step with fifty


def assert_equal(result: Parity) -> None:
    assert result.forward <= 1e-9, result
    assert result.flags == 0, result
    assert result.generators == 0, result


@pytest.mark.parametrize("task", TASKS)
def test_states_observations_rewards_and_ends_are_highway_envs(task: str) -> None:
    config = FEW if task == "LaneChange" else None
    result = parity(task, range(3), 30, config)
    assert result.steps > 60  # highway-env may stop at a division by zero
    assert_equal(result)


@pytest.mark.parametrize(
    ("task", "config"),
    [
        (
            "LaneChange",
            {"vehicles_count": 8, "lanes_count": 3, "policy_frequency": 5, "vehicles_density": 2},
        ),
        (
            "LaneChange",
            {
                "vehicles_count": 6,
                "lanes_count": 1,
                "initial_lane_id": 0,
                "normalize_reward": False,
                "observation": {"see_behind": True, "absolute": True, "vehicles_count": 4},
            },
        ),
        ("Merge", {"policy_frequency": 5, "observation": {"include_obstacles": False}}),
        ("TwoWay", {"simulation_frequency": 20, "policy_frequency": 2}),
        (
            "Intersection",
            {
                "destination": None,
                "spawn_probability": 1.0,
                "initial_vehicle_count": 6,
                "normalize_reward": True,
                "policy_frequency": 3,
                "observation": {"normalize": False, "vehicles_count": 3},
            },
        ),
    ],
)
def test_other_settings_are_highway_envs_too(task: str, config: dict[str, Any]) -> None:
    assert_equal(parity(task, [11], 20, config))


def test_a_nudge_of_a_tenth_of_a_micrometre_is_seen() -> None:
    result = parity("Merge", [0], 5, nudge=1e-7)
    assert not result.exact
    assert result.first == (0, 1)
    assert result.forward > 5e-8


def test_a_nan_differs_from_every_number() -> None:
    assert _gap(np.array([1.0, np.nan]), np.array([1.5, np.nan])) == 0.5
    assert _gap(np.array([1.0, np.nan]), np.array([1.0, 2.0])) == np.inf


def test_the_report_is_one_line() -> None:
    line = str(Parity("Merge", 2, 60, 0.0, 0.0, 0.0, 0.0, 0, 0, (1, 7)))
    assert "60 steps" in line
    assert "seed 1, step 7" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("task", "config", "message"),
    [
        ("LaneChange", {"vehicles_count": [20, 50]}, "drawn"),
        ("LaneChange", {"lane_change_reward": -0.1}, "changing lanes"),
        ("Merge", {"vehicles_count": 7}, "7 vehicles"),
        ("TwoWay", {"scenario": "complex"}, "10 vehicles"),
        ("TwoWay", {"idm_speed_limit": False}, "idm_speed_limit"),
    ],
)
def test_what_highway_env_does_not_know_is_refused(
    task: str, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parity(task, [0], 1, config)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="a seed and a step"):
        parity("Merge", [], 5)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_twenty_seeds_are_equal(task: str) -> None:
    config = {"vehicles_count": 30} if task == "LaneChange" else None
    assert_equal(parity(task, np.arange(20).tolist(), 30, config))
