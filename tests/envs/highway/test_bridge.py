"""The bridge: from highway-env's live envs to ours, back, and onwards together."""

import importlib.metadata
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation

from policy_inertia import InputError
from policy_inertia.envs import highway
from policy_inertia.envs.highway import TASKS, TrafficEnv
from tests.support.highway_side_by_side import FEW, run, upstream_env


@pytest.mark.parametrize("task", TASKS)
def test_both_continue_alike_from_the_same_state(task: str) -> None:
    report = run("bridges", task)
    for direction in ("from", "to"):
        assert sum(episode["steps"] for episode in report[direction]) >= 20
        for episode in report[direction]:
            assert episode["difference"] <= 1e-9, (direction, episode)
            assert not episode["wrong"], (direction, episode)
    assert any(episode["crashed"] for episode in report["from"] + report["to"])
    assert report["back"] == [[0.0, []]] * len(report["back"])
    assert report["nudged"]["difference"] > 1e-8  # a tenth of a micrometre is seen


@pytest.fixture
def two_way() -> Any:
    env = upstream_env("TwoWay")
    env.reset(seed=0)
    return env


def test_a_limit_of_steps_becomes_a_duration() -> None:
    config = {"observation": {"type": "Kinematics"}, "policy_frequency": 3}
    env = gym.make("two-way-v0", config=config)  # registered with 15 steps
    env.reset(seed=3)
    for _ in range(4):
        env.step(4)
    ours = highway.from_upstream(env)
    ends = [(env.step(4)[2:4], ours.step(4)[2:4]) for _ in range(11)]
    assert [theirs for theirs, _ in ends] == [ours for _, ours in ends]
    assert ends[-1][0][1]  # truncated


def test_making_our_intersection_does_not_change_other_traffic(two_way: Any) -> None:
    """highway-env's intersection changes the constants of its IDMVehicle; ours does not."""
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


def test_a_setting_that_highway_env_never_reads_is_not_taken_over() -> None:
    config = FEW | {"lane_change_reward": -1, "my_own_note": "x"}
    env = gym.make("highway-v0", config=config)
    env.reset(seed=0)
    ours = highway.from_upstream(env)
    assert ours.config["lane_change_reward"] == 0
    assert "my_own_note" not in ours.config
    assert env.step(0)[1] == pytest.approx(ours.step(0)[1], abs=1e-9)


def test_settings_that_were_changed_in_highway_env_are_taken_over() -> None:
    env = TrafficEnv("LaneChange", {"vehicles_count": [8, 9]})
    env.reset(seed=0)
    original = highway.to_upstream(env)
    assert highway.from_upstream(original).config == env.config
    original.configure({"collision_reward": -7, "duration": 9})
    changed = highway.from_upstream(original).config
    assert changed == env.config | {"collision_reward": -7, "duration": 9}


def test_an_observation_is_not_merged_with_the_intersections_own() -> None:
    """In highway-env a given dictionary replaces the default one."""
    env = gym.make("intersection-v0", config={"observation": {"type": "Kinematics"}})
    env.reset(seed=0)
    ours = highway.from_upstream(env)
    expected, *_ = env.step(1)
    np.testing.assert_allclose(ours.step(1)[0], expected, atol=1e-6)


@pytest.mark.parametrize("version", ["1.10.1", None])
def test_another_version_of_highway_env_is_refused(
    version: str | None, two_way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(_: str) -> str:
        if version is None:
            raise importlib.metadata.PackageNotFoundError
        return version

    monkeypatch.setattr(importlib.metadata, "version", installed)
    for call in (
        lambda: highway.from_upstream(two_way),
        lambda: TrafficEnv("TwoWay", render_mode="rgb_array"),
        lambda: highway.on_original("policy_inertia/TwoWay-v0"),
        lambda: highway.parity("TwoWay"),
    ):
        with pytest.raises(InputError, match=r"pip install highway-env==1\.12\.1"):
            call()


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("highway-fast-v0", "HighwayEnvFast has no counterpart here: give one of highway-v0, "),
        ("merge-v1", "ConnectedLaneMergeEnv has no counterpart"),
        ("CartPole-v1", "CartPoleEnv has no counterpart"),
        ("two-way-v0", "observation type must be 'Kinematics' here, got 'TimeToCollision'"),
    ],
)
def test_another_env_is_refused(env_id: str, message: str) -> None:
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


def test_to_upstream_takes_only_our_envs(two_way: Any) -> None:
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


def test_a_vehicles_class_is_named_after_its_task() -> None:
    from highway_env import utils

    env = TrafficEnv("Intersection")
    env.reset(seed=0)
    original = highway.to_upstream(env)
    driver = utils.class_from_path(original.config["other_vehicles_type"])
    assert driver.__name__ == "IntersectionDriver"
    assert driver.DISTANCE_WANTED == 7
    assert {type(v) for v in original.road.vehicles if v is not original.vehicle} == {driver}
    with pytest.raises(ImportError):
        from policy_inertia.envs.highway.upstream.drivers import NobodyDriver  # noqa: F401
