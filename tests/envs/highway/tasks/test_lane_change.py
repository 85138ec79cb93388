"""Lane Change: its first scenes, and each term of its reward in a scene made by hand."""

import numpy as np
import pytest

from tests.support.highway_scenes import (
    FASTER,
    IDLE,
    LEFT,
    RIGHT,
    SLOWER,
    empty_scene,
    scenes,
    step,
)


def test_the_paper_draws_from_20_to_50_other_vehicles() -> None:
    others = scenes("LaneChange", n=400).scenes["vehicles"] - 1
    assert set(range(20, 51)) == set(others.tolist())


def test_the_papers_reward_is_for_speed_alone() -> None:
    simulation = empty_scene("LaneChange")
    assert step(simulation, IDLE)["reward"] == pytest.approx((0.4 * 0.5 + 1) / 1.4)  # 25 m/s
    rewards = [step(simulation, FASTER)["reward"] for _ in range(8)]
    assert rewards[-1] == pytest.approx(1, abs=1e-3)
    rewards = [step(simulation, SLOWER)["reward"] for _ in range(8)]
    assert rewards[-1] == pytest.approx(1 / 1.4, abs=1e-3)  # 20 m/s


@pytest.mark.parametrize("action", [LEFT, RIGHT])
def test_a_lane_change_costs_even_if_there_is_no_lane(action: int) -> None:
    config = {"initial_lane_id": 0 if action == LEFT else 3}
    simulation = empty_scene("LaneChange", config)
    outcome = step(simulation, action)
    assert outcome["lane"] == config["initial_lane_id"]
    assert outcome["reward"] == pytest.approx((0.4 * 0.5 - 0.1 + 1) / 1.4)


def test_a_crash_costs_one_before_normalising_and_ends_the_episode() -> None:
    simulation = empty_scene("LaneChange")
    simulation.scenes["crashed"][0, 0] = 1
    outcome = step(simulation, IDLE)
    assert outcome["crashed"]
    assert outcome["terminated"]
    assert outcome["cost"] == 1
    assert outcome["reward"] == pytest.approx(0)  # crashed, and slow by now


def test_the_right_lane_is_rewarded_by_the_target_lane() -> None:
    config = {"right_lane_reward": 0.3, "initial_lane_id": 1, "lane_change_reward": 0}
    simulation = empty_scene("LaneChange", config)
    outcome = step(simulation, RIGHT)
    scene = simulation.scenes[0]
    forward = scene["speed"][0] * np.cos(scene["heading"][0])
    expected = 0.3 * 2 / 3 + 0.4 * (forward - 20) / 10
    assert outcome["reward"] == pytest.approx((expected + 1) / 1.7)


def test_with_speed_by_index_the_target_speed_is_rewarded_at_once() -> None:
    simulation = empty_scene("LaneChange", {"speed_reward": "index"})
    assert step(simulation, FASTER)["reward"] == pytest.approx(1)
