"""Somebody's policy with continuous actions: loaded, filtered, limited, evaluated."""

import json
import struct
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, Limit, Policy, calibrate, evaluate, load_core
from policy_inertia.calibration.filter_sweep import calibrate_filter
from policy_inertia.envs.spaces import Spaces
from policy_inertia.networks.layers import Activation, Linear
from policy_inertia.policies.action_filters.butterworth import Butterworth
from policy_inertia.policies.action_filters.dead_band import DeadBand
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.one_euro import OneEuro
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.stored_policy import load_stored
from tests.support.chase import LENGTH, Chase, Follower, follow
from tests.support.mutations import check_cases, mutate_bytes, mutate_json
from tests.support.policies import fresh

RULES = [
    Exponential(0.3),
    Butterworth(0.2),
    DeadBand(0.1),
    RateLimit(0.05),
    OneEuro(0.05),
    MovementLimit(0.05),
    MovementLimit(0.05, per_dimension=True),
]
OBS = np.array([[0.5, -0.5], [2.9, 0.0], [-1.0, 1.0]], np.float32)


@pytest.fixture(scope="module")
def core() -> ContinuousCore:
    return load_core(follow, Chase)


def episode(core: ContinuousCore, seed: int = 0) -> np.ndarray:
    """The actions that the env gets in one episode, one by one."""
    env = Chase()
    obs, _ = env.reset(seed=seed)
    state, over = None, False
    while not over:
        action, state = core.predict(obs, state, [state is None])
        obs, _, _, over, _ = env.step(action)
    return np.array(env.taken)


@pytest.mark.parametrize("source", [follow, Follower(), lambda o: follow(o).tolist()])
def test_functions_and_objects_that_predict_are_loaded(source: Any) -> None:
    core = load_core(source, Chase)
    np.testing.assert_allclose(core.predict(OBS)[0], follow(OBS), atol=1e-6)
    np.testing.assert_allclose(core.predict(OBS[1])[0], follow(OBS[1]), atol=1e-6)


def test_function_of_one_observation_is_loaded() -> None:
    weights = np.array([[0.5, 0.0], [0.1, 0.2]])
    core = load_core(lambda obs: weights @ obs, Chase)
    np.testing.assert_allclose(core.predict(OBS)[0], OBS @ weights.T, atol=1e-6)


def test_evaluation_and_a_loop_by_hand_take_the_same_actions(core: ContinuousCore) -> None:
    filtered = core.with_filter(Exponential(0.3)).with_limit(0.05)
    evaluated = evaluate(filtered, Chase, 3, seed=7)
    assert {len(e) for e in evaluated.episodes} == {LENGTH}
    batch = evaluate(filtered, Chase, 25, seed=7)  # 20 envs side by side
    for a, b in zip(evaluated.episodes, batch.episodes, strict=False):
        np.testing.assert_array_equal(a.actions, b.actions)


def test_filter_makes_the_policy_smoother_and_here_better(core: ContinuousCore) -> None:
    plain, filtered = (
        evaluate(policy, Chase, 10).summary()
        for policy in (core, core.with_filter(Exponential(0.4)))
    )
    assert filtered["action_fluctuation"] < 0.6 * plain["action_fluctuation"]
    assert filtered["return"] > plain["return"]  # the noise is in the observations


def test_limit_bounds_the_movement_in_every_stretch(core: ContinuousCore) -> None:
    moved = (abs(np.diff(episode(core.with_limit(0.01, 0.05)), axis=0)) / 4).mean(1)
    for start in range(len(moved)):
        steps = np.arange(len(moved) - start)
        assert (np.cumsum(moved[start:]) <= 0.05 + 0.01 * steps + 1e-6).all()
    assert moved.sum() > 0.3  # and it is used


def test_every_episode_starts_afresh(core: ContinuousCore) -> None:
    filtered = core.with_filter(Exponential(0.1)).with_limit(0.01, 0.05)
    _, state = filtered.predict(OBS)
    actions, _ = filtered.predict(OBS[::-1], state, [True, False, True])
    np.testing.assert_allclose(actions[[0, 2]], follow(OBS[::-1])[[0, 2]], atol=1e-6)
    assert abs(actions[1] - follow(OBS[1])).max() < 0.4


def test_hand_over_starts_from_the_action_that_was_taken(core: ContinuousCore) -> None:
    filtered = core.with_filter(Exponential(0.1))
    state = filtered.reset_to([1.0, -1.0])
    action, state = filtered.predict(OBS[0], state)
    np.testing.assert_allclose(action, [0.95, -0.95], atol=1e-6)
    batch = filtered.reset_to(np.ones((3, 2)))
    assert filtered.predict(OBS, batch)[0].shape == (3, 2)
    with pytest.raises(InputError, match="the hand-over gave 5 as number 0"):
        filtered.reset_to([5.0, 0.0])


def test_filter_can_be_put_on_in_mid_episode(core: ContinuousCore) -> None:
    before, state = core.predict(OBS)
    after, state = core.with_filter(DeadBand(0.2)).predict(OBS + 0.1, state)
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert set(state) == {PREVIOUS_ACTION, "filter_output"}


@pytest.mark.parametrize("first", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("second", RULES, ids=lambda rule: rule.name)
def test_filters_can_be_exchanged_in_mid_episode(
    core: ContinuousCore, first: Any, second: Any
) -> None:
    before, state = core.with_filter(first).predict(OBS)
    after, _ = core.with_filter(second).predict(OBS, state)
    np.testing.assert_allclose(after, before, atol=1e-5)
    alone = core.with_dimensions(["untouched", "delta"]).with_filter(second)
    assert np.isfinite(alone.predict(OBS, state)[0]).all()


def test_setting_of_a_filter_can_be_changed(core: ContinuousCore) -> None:
    filtered = core.with_filter(Exponential(0.3))
    assert filtered.setting_name == "alpha"
    assert filtered.with_setting(0.5).rule == Exponential(0.5)
    assert repr(filtered.with_limit(0.1)).startswith(
        "ContinuousCore(follow, Exponential(alpha=0.3)"
    )
    with pytest.raises(InputError, match="follow has no filter, so there is nothing to set"):
        _ = core.setting_name


def test_declared_dimensions_hold_for_filter_and_limit(core: ContinuousCore) -> None:
    alone = core.with_dimensions(["untouched", "absolute"]).with_filter(Exponential(0.1))
    taken, plain = episode(alone.with_limit(0, 0.01)), episode(core)
    np.testing.assert_array_equal(taken[:, 0], plain[:, 0])
    assert abs(np.diff(taken[:, 1])).sum() / 4 <= 0.01 + 1e-6


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (lambda obs: obs * np.nan, "gave nan as number 0 of an action"),
        (lambda obs: obs * 0 + 3, "gave 3 as number 0 of an action, and its bounds are -2 and 2"),
        (lambda obs: obs[:, :1], r"gave actions of shape \(3, 1\).*expected \(3, 2\)"),
        (lambda obs: 1 / 0, "fails on observations of shape"),
    ],
)
def test_policies_that_do_not_fit_are_refused_in_one_sentence(source: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_core(source, Chase)


def test_actions_beyond_their_bounds_can_be_clipped() -> None:
    core = load_core(lambda obs: 10 * obs, Chase, clip=True)
    np.testing.assert_array_equal(core.predict(OBS)[0], np.clip(10 * OBS, -2, 2))


def test_actions_of_any_shape_are_taken() -> None:
    class Grid(Chase):
        action_space: gym.Space[Any] = gym.spaces.Box(-3, 3, (2, 3), np.float64)

    core = load_core(lambda obs: np.tile(obs[:, None, :1], (1, 2, 3)), Grid)
    action, _ = core.with_filter(Exponential(0.5)).predict(OBS)
    assert (action.shape, action.dtype) == ((3, 2, 3), np.float64)


def perceptron() -> ContinuousCore:
    """A core whose network is known."""
    weights = np.array([[0.5, 0.1], [-0.2, 0.3]], np.float32)
    layers = (Linear(weights, np.zeros(2, np.float32)), Activation("Tanh"))
    space = Chase.observation_space
    spaces = Spaces.of(space, Chase.action_space, "Chase")
    return ContinuousCore.from_layers("actor", spaces, layers, space)


def test_policy_with_filter_and_limit_survives_its_file(tmp_path: Path) -> None:
    saved = perceptron().with_dimensions(["delta", "absolute"]).with_filter(Butterworth(0.2))
    saved = calibrate_filter(saved.with_limit(0.1, 0.5, True), Chase, 2, settings=[0.5, 0.1])
    saved.save(tmp_path / "policy.safetensors")
    loaded = ContinuousCore.load(tmp_path / "policy.safetensors")
    assert repr(loaded) == repr(saved)
    assert (loaded.curve, loaded.dimensions) == (saved.curve, saved.dimensions)
    np.testing.assert_array_equal(episode(loaded), episode(saved))


def test_file_of_a_function_asks_for_the_same_function_again(
    core: ContinuousCore, tmp_path: Path
) -> None:
    path = tmp_path / "policy.safetensors"
    filtered = core.with_filter(Exponential(0.3)).with_limit(0.1).on("Chase", {"wind": 1})
    filtered.save(path)
    with pytest.raises(InputError, match="it is about follow, which a file cannot hold: give it"):
        ContinuousCore.load(path)
    with pytest.raises(InputError, match="it is about follow, and <lambda> acts differently"):
        ContinuousCore.load(path, load_core(lambda obs: -follow(obs), Chase))
    loaded = ContinuousCore.load(path, core)
    assert (loaded.task, loaded.env_kwargs) == ("Chase", {"wind": 1})
    np.testing.assert_array_equal(episode(loaded), episode(filtered))


def test_readers_of_the_other_kind_of_policy_say_which_one_to_use(tmp_path: Path) -> None:
    perceptron().save(tmp_path / "policy.safetensors")
    with pytest.raises(InputError, match=r"ContinuousCore\.load reads policies with continuous"):
        Policy.load(tmp_path)
    assert isinstance(load_stored(tmp_path), ContinuousCore)
    fresh("dqn").save(tmp_path / "policy.safetensors")
    assert isinstance(load_stored(tmp_path), Policy)


def test_what_is_for_discrete_actions_is_refused_in_one_sentence(core: ContinuousCore) -> None:
    limit: Any = Limit(0.1)
    with pytest.raises(InputError, match="counts switches, and the actions are continuous"):
        core.within(limit)
    with pytest.raises(InputError, match="hysteresis compares the scores of Discrete ones"):
        core.with_hysteresis(0.1)
    other: Any = fresh("dqn")
    anything: Any = core
    with pytest.raises(InputError, match="filters are for continuous actions"):
        calibrate_filter(other, "CartPole-v1")
    with pytest.raises(InputError, match="calibrate_filter measures the filters of continuous"):
        calibrate(anything, Chase)


def test_other_files_are_refused(tmp_path: Path) -> None:
    fresh("dqn").save(tmp_path / "policy.safetensors")
    with pytest.raises(InputError, match="holds no policy with continuous actions"):
        ContinuousCore.load(tmp_path / "policy.safetensors")


def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    filtered = perceptron().with_filter(Exponential(0.2)).with_limit(0.1)
    calibrate_filter(filtered, Chase, 2, settings=[0.5, 0.1]).save(path)
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header["__metadata__"]["policy_inertia"])

    def one_case(rng: Any) -> None:
        if rng.random() < 0.3:
            path.write_bytes(mutate_bytes(data, rng))
        else:
            new = {**header, "__metadata__": {"policy_inertia": mutate_json(about, rng)}}
            text = json.dumps(new).encode()
            path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
        damaged = ContinuousCore.load(path)
        obs = np.zeros((2, *damaged.spaces.obs_shape), np.float32)
        damaged.predict(obs, damaged.predict(obs)[1])

    counts = check_cases(one_case, 150)
    assert counts["refused"] > 50
