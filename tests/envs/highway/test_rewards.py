"""Each term of the paper's rewards against a scene made by hand, and each end of an episode."""

import numpy as np
import pytest

from policy_inertia.envs.highway.simulator.lanes import centre
from tests.support.highway_scenes import alone, put, scene, step

LEFT, IDLE, RIGHT, FASTER, SLOWER = range(5)


def test_lane_change_pays_for_speed_alone() -> None:
    simulation = alone(scene("LaneChange"))
    assert step(simulation, IDLE)["reward"] == pytest.approx((0.4 * 0.5 + 1) / 1.4)  # 25 m/s
    for _ in range(8):
        outcome = step(simulation, FASTER)
    assert outcome["reward"] == pytest.approx(1, abs=1e-3)
    for _ in range(8):
        outcome = step(simulation, SLOWER)
    assert outcome["reward"] == pytest.approx(1 / 1.4, abs=1e-3)  # 20 m/s


@pytest.mark.parametrize("action", [LEFT, RIGHT])
def test_changing_lanes_costs_by_intent_even_at_the_edge(action: int) -> None:
    config = {"initial_lane_id": 0 if action == LEFT else 3}
    simulation = alone(scene("LaneChange", config))
    outcome = step(simulation, action)
    assert outcome["lane"] == config["initial_lane_id"]
    assert outcome["reward"] == pytest.approx((0.4 * 0.5 - 0.1 + 1) / 1.4)


def test_a_crash_costs_one_before_normalising_and_ends_the_episode() -> None:
    simulation = alone(scene("LaneChange"))
    simulation.scenes["crashed"][0, 0] = 1
    outcome = step(simulation, IDLE)
    assert outcome["crashed"]
    assert outcome["terminated"]
    assert outcome["reward"] == pytest.approx(0)  # crashed, and slow by now


def test_right_lane_reward_is_by_the_target_lane() -> None:
    config = {"right_lane_reward": 0.3, "initial_lane_id": 1, "lane_change_reward": 0}
    simulation = alone(scene("LaneChange", config))
    outcome = step(simulation, RIGHT)
    forward = simulation.scenes["speed"][0, 0] * np.cos(simulation.scenes["heading"][0, 0])
    expected = 0.3 * 2 / 3 + 0.4 * (forward - 20) / 10
    assert outcome["reward"] == pytest.approx((expected + 1) / 1.7)


def test_speed_by_index_as_in_2020() -> None:
    simulation = alone(scene("LaneChange", {"speed_reward": "index"}))
    assert step(simulation, FASTER)["reward"] == pytest.approx(1)  # at once, not at speed
    simulation = alone(scene("Merge", {"speed_reward": "index"}))
    expected = (0.2 * 1 / 2 + 0.1 + 1.5) / 1.8
    assert step(simulation, SLOWER)["reward"] == pytest.approx(expected)


def test_merge_pays_for_speed_and_the_right_lane() -> None:
    simulation = alone(scene("Merge"))
    assert step(simulation, IDLE)["reward"] == pytest.approx((0.2 + 0.1 + 1.5) / 1.8)
    assert step(simulation, RIGHT)["reward"] == pytest.approx((0.2 + 0.1 - 0.05 + 1.5) / 1.8)


def test_merge_takes_for_who_is_slow_on_the_merging_lane() -> None:
    simulation = alone(scene("Merge"))
    simulation.scenes["vehicles"] = 2
    put(simulation, 1, 240.0, 8.0, 0.0, 15.0)
    simulation.scenes["target_speed"][0, 1] = 30.0
    outcome = step(simulation, IDLE)
    one = simulation.scenes[0]
    assert simulation.tables.network.numbers["b", "c", 2] == one["lane"][1]
    slow = (30 - one["speed"][1]) / 30
    assert slow > 0.2
    assert outcome["reward"] == pytest.approx((0.2 + 0.1 - 0.5 * slow + 1.5) / 1.8)


def test_merge_ends_behind_the_ramp() -> None:
    simulation = alone(scene("Merge"))
    put(simulation, 0, 345.0, 4.0, 0.0, 30.0)
    outcome = step(simulation, IDLE)
    assert outcome["terminated"]
    assert not outcome["crashed"]


def test_two_way_pays_for_the_target_speed_and_the_left_lane() -> None:
    simulation = alone(scene("TwoWay"))
    assert step(simulation, IDLE)["reward"] == pytest.approx(0.8)
    outcome = step(simulation, LEFT)
    assert outcome["reward"] == pytest.approx(0.8 + 0.2)
    outcome = step(simulation, SLOWER)
    assert outcome["reward"] == pytest.approx(0.4 + 0.2)


def test_two_way_reports_the_left_lanes_cost_and_does_not_charge_it() -> None:
    simulation = alone(scene("TwoWay"))
    assert step(simulation, IDLE)["cost"] == 0
    for _ in range(3):
        outcome = step(simulation, LEFT)
    assert outcome["lane"] == 0
    assert outcome["cost"] == pytest.approx(1 / 15)
    simulation.scenes["crashed"][0, 0] = 1
    outcome = step(simulation, IDLE)
    assert outcome["cost"] == pytest.approx(1 + 1 / 15)
    assert outcome["terminated"]
    assert outcome["reward"] == pytest.approx(0.8 + 0.2)  # a crash ends the episode, no more


def on_the_way_out(distance: float) -> tuple[float, float, float]:
    simulation = scene("Intersection")
    lane = simulation.tables.network.lanes[simulation.tables.network.numbers["il1", "o1", 0]]
    x, y = centre.py_func(_Row(lane), distance)
    return float(x), float(y), float(lane["heading"])


class _Row:
    """A row of a table with its fields as attributes, as compiled code sees it."""

    def __init__(self, row: np.void) -> None:
        for name in row.dtype.names or ():
            setattr(self, name, row[name])


def test_intersection_pays_five_for_arriving_and_nothing_else() -> None:
    simulation = alone(scene("Intersection", {"spawn_probability": 0.0}))
    assert step(simulation, 1)["reward"] == 0
    put(simulation, 0, *on_the_way_out(10.0), 9.0)
    outcome = step(simulation, 1)
    assert not outcome["arrived"]
    assert outcome["reward"] == 0
    outcome = step(simulation, 1)
    assert outcome["arrived"]
    assert outcome["terminated"]
    assert outcome["reward"] == 5


def test_intersection_pays_nothing_for_a_crash() -> None:
    simulation = alone(scene("Intersection", {"spawn_probability": 0.0}))
    simulation.scenes["crashed"][0, 0] = 1
    outcome = step(simulation, 1)
    assert outcome["terminated"]
    assert outcome["reward"] == 0


@pytest.mark.parametrize(
    ("task", "duration"), [("LaneChange", 70), ("Merge", 25), ("Intersection", 25), ("TwoWay", 25)]
)
def test_durations_truncate(task: str, duration: int) -> None:
    simulation = alone(scene(task, {"spawn_probability": 0.0} if task == "Intersection" else None))
    simulation.scenes["time"] = duration - 2
    assert not step(simulation, 1)["truncated"]
    outcome = step(simulation, 1)
    assert outcome["truncated"]
    assert not outcome["terminated"]
