"""Our envs with random arguments: each set is used, or refused in one sentence."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.envs.atari.options import Options, options_from
from policy_inertia.envs.highway import TASKS, TrafficEnv, TrafficVectorEnv, configuration
from policy_inertia.envs.highway.simulator.controls import CONTINUOUS
from tests.support.mutations import Generator, check_cases, mutate_tree

PYTHON_VALUES: tuple[Any, ...] = (
    10**5_000,  # has more digits than Python writes
    1j,
    b"x",
    {1, 2},
    {1: 2},
    (),
    ((1, 2),),
    np.nan,
    np.float32(0.5),
    np.int64(3),
    np.bool_(True),
    np.complex128(1),
    np.zeros(3),
    np.array([["x"]]),
    np.array(2),
    object,
    range(10**12),
    float("-inf"),
)
"""What only a Python program can give."""

LARGEST = 20_000
"""Frames of a step times vehicles; larger scenes are made, but not run."""


def arguments(task: str) -> dict[str, Any]:
    """All arguments of a task's env, with values that are right."""
    drawing = {"screen_width": 600, "centering_position": [0.3, 0.5], "scaling": 5.5}
    config = configuration(TASKS[task], {**drawing, "show_trajectories": False})
    config["observation"]["features_range"] = {"x": [-100, 100], "vy": [-20.5, 20]}
    return {"task": task, "preset": "paper", "config": config}


def changed(tree: Any, rng: Generator) -> Any:
    """A mutated tree, sometimes with values that no JSON file holds."""
    tree = mutate_tree(tree, rng)
    tables = [t for t in (tree, _item(tree, "config")) if isinstance(t, dict) and t]
    if tables and rng.random() < 0.3:
        table = tables[int(rng.integers(len(tables)))]
        name = list(table)[int(rng.integers(len(table)))]
        table[name] = PYTHON_VALUES[int(rng.integers(len(PYTHON_VALUES)))]
    return tree


def _item(tree: Any, name: str) -> Any:
    return tree.get(name) if isinstance(tree, dict) else None


def known(tree: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The arguments that the constructor has; Python itself refuses others."""
    return {k: v for k, v in tree.items() if k in names} if isinstance(tree, dict) else {}


def run_single(rng: Generator) -> None:
    task = list(TASKS)[int(rng.integers(len(TASKS)))]
    env = TrafficEnv(**known(changed(arguments(task), rng), ("task", "preset", "config")))
    _, most = env.simulation.task.vehicles(env.config)
    frames = env.config["simulation_frequency"] / env.config["policy_frequency"]
    if frames * most <= LARGEST and env.config["simulation_frequency"] * most <= LARGEST:
        obs, _ = env.reset(seed=int(rng.integers(100)))
        assert env.observation_space.contains(obs)
        obs, reward, *_ = env.step(0)
        assert np.isfinite(obs).all()
        assert np.isfinite(reward)


def run_steered(rng: Generator) -> None:
    """Two-Way with random settings of its continuous actions."""
    action = changed(CONTINUOUS | {"speed_range": [-5, 35]}, rng)
    env = TrafficEnv("TwoWay", {"action": action})
    env.reset(seed=int(rng.integers(100)))
    env.action_space.seed(int(rng.integers(100)))
    obs, reward, *_ = env.step(env.action_space.sample())
    assert np.isfinite(obs).all()
    assert np.isfinite(reward)


def run_batch(rng: Generator) -> None:
    names = ("num_envs", "task", "preset", "config", "max_episode_steps", "render_mode")
    right = {**arguments("TwoWay"), "num_envs": 2, "max_episode_steps": 9, "render_mode": None}
    TrafficVectorEnv(**known(changed(right, rng), names))


def read_options(rng: Generator) -> None:
    tree = changed(dict(vars(Options())), rng)
    options_from(tree if isinstance(tree, dict) else {})


def test_random_arguments_of_a_scene_are_used_or_refused() -> None:
    counts = check_cases(run_single, 300)
    assert min(counts.values()) > 10


def test_random_settings_of_continuous_actions_are_used_or_refused() -> None:
    counts = check_cases(run_steered, 200)
    assert min(counts.values()) > 10


def test_random_arguments_of_a_batch_are_used_or_refused() -> None:
    counts = check_cases(run_batch, 200)
    assert min(counts.values()) > 10


def test_random_options_of_a_game_are_used_or_refused() -> None:
    counts = check_cases(read_options, 300)
    assert min(counts.values()) > 10


@pytest.mark.slow
def test_twenty_thousand_random_arguments_are_used_or_refused() -> None:
    check_cases(run_single, 20_000, seed=1)
    check_cases(run_steered, 5_000, seed=1)
    check_cases(run_batch, 5_000, seed=1)
    check_cases(read_options, 20_000, seed=1)


@pytest.mark.parametrize("value", [None, [], {}, 3, 1.5, True, float("nan"), ["paper"], "x"])
@pytest.mark.parametrize("name", ["preset", "task", "config"])
def test_wrong_presets_tasks_and_configurations_are_refused(name: str, value: Any) -> None:
    if name == "config" and not value and not isinstance(value, list):
        TrafficEnv(config=value)  # nothing is changed
        return
    with pytest.raises(InputError, match=r"there is no|must be a dictionary"):
        TrafficEnv(**{name: value})


@pytest.mark.parametrize(
    ("task", "config"),
    [
        ("TwoWay", {"scenario": []}),
        ("TwoWay", {"scenario": None}),
        ("TwoWay", {"vehicles_count": {}}),
        ("Intersection", {"destination": ["o1"]}),
        ("Merge", {"speed_reward": {}}),
        ("Merge", {"reward_speed_range": np.array(3)}),
        ("Merge", {"observation": {"features": [["x"]]}}),
        ("Merge", {"other_vehicles_type": np.zeros(2)}),
        ("Merge", {"action": {"target_speeds": 1j}}),
        ("Merge", {3: 4}),
        ("TwoWay", {"action": {"type": {}}}),
        ("TwoWay", {"action": {"type": "ContinuousAction", "clip": np.zeros(2)}}),
        ("TwoWay", {"action": {"type": "ContinuousAction", "speed_range": 1j}}),
    ],
)
def test_values_of_the_wrong_type_are_refused(task: str, config: Any) -> None:
    with pytest.raises(InputError):
        TrafficEnv(task, config)
