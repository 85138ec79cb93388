"""highway-env's live objects and ours: there, back, and on together."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation

from policy_inertia import InputError
from policy_inertia.envs import highway
from policy_inertia.envs.highway import TASKS, TrafficEnv
from policy_inertia.envs.highway.upstream import original
from tests.support.highway_side_by_side import FEW, run, upstream


@pytest.mark.parametrize("task", TASKS)
def test_both_go_on_alike_from_the_same_state(task: str) -> None:
    found = run("bridges", task)
    for direction in ("from", "to"):
        assert sum(told["steps"] for told in found[direction]) >= 20
        for told in found[direction]:
            assert told["gap"] <= 1e-9, (direction, told)
            assert not told["wrong"], (direction, told)
    assert any(told["crashed"] for told in found["from"] + found["to"])
    assert found["back"] == [[0.0, []]] * len(found["back"])
    assert found["nudged"]["gap"] > 1e-8  # a tenth of a micrometre is seen


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
def test_the_papers_episodes_are_the_same_in_the_original(task: str, config: dict) -> None:
    told = run("originals", task, json.dumps(config))
    assert told["ends"] == 4
    assert told["gap"] <= 1e-9


def test_a_trained_policy_earns_the_same_in_both(trained: Path) -> None:
    told = run("policies", str(trained))
    assert told["returns"][0] == told["returns"][1]
    assert told["actions"][0] == told["actions"][1]
    assert len(set(told["returns"][0])) > 1  # episodes that differ, or equal says little


@pytest.fixture
def two_way() -> Any:
    env = upstream("TwoWay")
    env.reset(seed=0)
    return env


def test_a_limit_of_steps_becomes_a_duration() -> None:
    config = {"observation": {"type": "Kinematics"}, "policy_frequency": 3}
    env = gym.make("two-way-v0", config=config)  # registered with 15 steps
    env.reset(seed=3)
    ours = None
    for t in range(1, 16):
        *_, terminated, truncated, _ = env.step(4)
        if ours is not None:
            assert ours.step(4)[2:4] == (terminated, truncated)
        if t == 4:
            ours = highway.from_upstream(env)
    assert truncated


def test_what_is_made_later_does_not_change_the_traffic(two_way: Any) -> None:
    """Making an intersection of highway-env's changes its IDMVehicle; making ours does not."""
    from highway_env.vehicle.behavior import IDMVehicle

    names = ("DISTANCE_WANTED", "COMFORT_ACC_MAX", "COMFORT_ACC_MIN")
    before = [getattr(IDMVehicle, name) for name in names]
    env = TrafficEnv("Intersection", render_mode="rgb_array")
    env.reset(seed=0)
    env.render()
    highway.to_upstream(env).step(1)
    assert [getattr(IDMVehicle, name) for name in names] == before

    for vehicle in two_way.road.vehicles[1:]:
        vehicle.DISTANCE_WANTED = 8.5
    ours = highway.from_upstream(two_way)
    assert ours.simulation.tables.settings["distance_wanted"][0] == 8.5
    assert highway.to_upstream(ours).road.vehicles[1].DISTANCE_WANTED == 8.5


def test_a_key_that_highway_env_never_reads_is_not_read_here() -> None:
    config = FEW | {"lane_change_reward": -1, "my_own_note": "x"}
    env = gym.make("highway-v0", config=config)
    env.reset(seed=0)
    ours = highway.from_upstream(env)
    assert ours.config["lane_change_reward"] == 0
    assert "my_own_note" not in ours.config
    assert env.step(0)[1] == pytest.approx(ours.step(0)[1], abs=1e-9)


def test_an_original_of_ours_that_was_configured_again_is_read_so() -> None:
    env = TrafficEnv("LaneChange", {"vehicles_count": [8, 9]})
    env.reset(seed=0)
    original = highway.to_upstream(env)
    assert highway.from_upstream(original).config == env.config
    original.configure({"collision_reward": -7, "duration": 9})
    changed = highway.from_upstream(original).config
    assert changed == env.config | {"collision_reward": -7, "duration": 9}


def test_an_observation_is_not_merged_with_the_intersections_own() -> None:
    """As in highway-env, where a given dictionary replaces the default one."""
    env = gym.make("intersection-v0", config={"observation": {"type": "Kinematics"}})
    env.reset(seed=0)
    ours = highway.from_upstream(env)
    seen, *_ = env.step(1)
    np.testing.assert_allclose(ours.step(1)[0], seen, atol=1e-6)


@pytest.mark.parametrize("version", ["1.10.1", None])
def test_another_version_is_refused(
    version: str | None, two_way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(_: str) -> str:
        if version is None:
            raise original.importlib.metadata.PackageNotFoundError
        return version

    monkeypatch.setattr(original.importlib.metadata, "version", installed)
    for ask in (
        lambda: highway.from_upstream(two_way),
        lambda: TrafficEnv("TwoWay", render_mode="rgb_array"),
        lambda: highway.on_original("policy_inertia/TwoWay-v0"),
        lambda: highway.parity("TwoWay"),
    ):
        with pytest.raises(InputError, match=r"pip install highway-env==1\.12\.1"):
            ask()


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("highway-fast-v0", "HighwayEnvFast has no counterpart here: give one of highway-v0, "),
        ("merge-v1", "ConnectedLaneMergeEnv has no counterpart"),
        ("CartPole-v1", "CartPoleEnv has no counterpart"),
        ("two-way-v0", "observation type must be 'Kinematics' here, got 'TimeToCollision'"),
    ],
)
def test_another_type_is_refused(env_id: str, message: str) -> None:
    env = gym.make(env_id)
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        highway.from_upstream(env)


def test_an_env_that_was_not_reset_is_refused(two_way: Any) -> None:
    with pytest.raises(InputError, match="reset it first"):
        highway.from_upstream(gym.make("highway-v0", config=FEW))
    two_way.road = None
    with pytest.raises(InputError, match="two-way-v0 has no state yet"):
        highway.from_upstream(two_way)
    with pytest.raises(InputError, match="reset it first"):
        highway.to_upstream(TrafficEnv("Merge"))


def test_a_wrapper_is_refused(two_way: Any) -> None:
    with pytest.raises(InputError, match="cannot carry the wrapper FlattenObservation over"):
        highway.from_upstream(FlattenObservation(two_way))


def test_to_upstream_takes_ours_alone(two_way: Any) -> None:
    with pytest.raises(InputError, match="one of our Highway envs, got TwoWayEnv"):
        highway.to_upstream(two_way)


def _crowd(env: Any) -> None:
    env.road.vehicles += [env.road.vehicles[-1]] * 1020


def _reroute(env: Any) -> None:
    env.road.vehicles[1].plan_route_to("b")


def _aggressive(env: Any) -> None:
    from highway_env.vehicle.behavior import AggressiveVehicle

    env.road.vehicles[1] = AggressiveVehicle.create_from(env.road.vehicles[1])


def _landmark(env: Any) -> None:
    from highway_env.vehicle.objects import Landmark

    env.road.objects.append(Landmark(env.road, [0, 0]))


def _set(path: str, value: Any) -> Any:
    def change(env: Any) -> None:
        *parents, name = path.split(".")
        for parent in parents:
            env = env[int(parent)] if parent.isdigit() else getattr(env, parent)
        setattr(env, name, value)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_crowd, "room for 1022 vehicles and obstacles, and two-way-v0 has 1026"),
        (_reroute, "route of 1 lanes"),
        (_aggressive, "a AggressiveVehicle has no counterpart"),
        (_landmark, "only Obstacle"),
        (_set("road.vehicles.1.POLITENESS", 0.5), "POLITENESS must be 0.0 here, got 0.5"),
        (_set("road.vehicles.1.DISTANCE_WANTED", 3), "same DISTANCE_WANTED"),
        (_set("road.vehicles.1.check_collisions", False), "check_collisions"),
        (_set("road.vehicles.1.lane.speed_limit", 7), "road of this two-way-v0 was changed"),
        (_set("steps", 7), "between two decisions"),
        (
            _set("np_random", np.random.Generator(np.random.MT19937())),
            "must be a PCG64, as Gymnasium makes it, got MT19937",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_refused(two_way: Any, change: Any, message: str) -> None:
    change(two_way)
    with pytest.raises(InputError, match=message):
        highway.from_upstream(two_way)


def test_too_many_lanes_are_refused() -> None:
    env = gym.make("highway-v0", config=FEW | {"lanes_count": 21})
    env.reset(seed=0)
    with pytest.raises(InputError, match="lanes_count must be a whole number from 1 to 20"):
        highway.from_upstream(env)


def test_only_highway_tasks_run_in_the_original() -> None:
    with pytest.raises(InputError, match="and the env here is CartPole-v1"):
        highway.on_original("CartPole-v1")


def test_a_step_after_the_end_is_refused_in_the_original_too() -> None:
    env = highway.OriginalEnv("TwoWay", {"duration": 1})
    with pytest.raises(gym.error.ResetNeeded):
        env.step(1)
    env.reset(seed=0)
    assert env.step(1)[3]
    with pytest.raises(gym.error.ResetNeeded):
        env.step(1)
