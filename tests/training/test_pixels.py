"""Pixel tasks from training to an ONNX file; the networks' own tests are in test_convolution."""

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, export, train
from policy_inertia.envs.spaces import Spaces
from policy_inertia.methods import METHODS
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support.pixel_game import Catch
from tests.support.runs import contents

SHORT: dict[str, Any] = {"steps": 48, "envs": 4, "batch_size": 4, "buffer_size": 60}
SHORT |= {
    "learning_starts": 16,
    "eval_every": 24,
    "eval_episodes": 2,
    "final_episodes": 2,
    "calibration_episodes": 2,
}
SHORT |= {"checkpoint_seconds": 0.0}


def small(method: str) -> dict[str, Any]:
    """A narrow network behind the convolutions, and few updates."""
    own = {"hidden": (8,), "train_interval": 8}
    nested = METHODS[method].config.traits.nested
    return {**SHORT, **own, **({"core": own} if nested else {})}


QUICK = ("dqn", "sac-repeat", "nsac-ip", "dial-dqn")  # every algorithm and transform once
VECTORS = ("temporl",)  # refuses pixels; see tests/algorithms/test_temporl.py
SLOW = [pytest.param(m, marks=pytest.mark.slow) for m in METHODS if m not in (*QUICK, *VECTORS)]


@pytest.mark.parametrize("method", [*QUICK, *SLOW])
@pytest.mark.usefixtures("quick_compiler")
def test_every_method_trains_and_its_file_acts_the_same(method: Any, tmp_path: Path) -> None:
    policy = train(method, Catch, tmp_path, **small(method))
    loaded = Policy.load(tmp_path)
    obs = np.random.default_rng(0).integers(0, 256, (5, 4, 84, 84), dtype=np.uint8)
    previous = [-1, 0, 1, 2, 0] if policy.repeats == (1,) else -1
    assert policy.spaces.pixels
    np.testing.assert_array_equal(
        policy.probabilities(obs, previous), loaded.probabilities(obs, previous)
    )
    one, _ = loaded.predict(obs[0], deterministic=True)
    assert Catch().action_space.contains(one)


@pytest.mark.parametrize("method", ["dqn", "nsac", "dial-dqn"])
@pytest.mark.usefixtures("quick_compiler")
def test_exported_file_is_the_policy(method: str, tmp_path: Path) -> None:
    policy = train(method, Catch, tmp_path / "run", **small(method))
    exported = export(policy, tmp_path / "policy.onnx")
    assert exported.difference < 1e-5


@pytest.mark.parametrize("method", ["nsac", "dqn-repeat"])
@pytest.mark.usefixtures("quick_compiler")
def test_stopped_run_ends_bit_for_bit_like_one_that_was_not(method: str, tmp_path: Path) -> None:
    train(method, Catch, tmp_path / "whole", **small(method))
    train(method, Catch, tmp_path / "cut", **{**small(method), "steps": 24})
    train(method, Catch, tmp_path / "cut", resume=True, **small(method))
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


@pytest.mark.usefixtures("quick_compiler")
def test_frames_in_a_file_change_nothing(tmp_path: Path) -> None:
    train("dqn", Catch, tmp_path / "memory", **small("dqn"))
    frames = str(tmp_path / "frames")
    train("dqn", Catch, tmp_path / "file", memory_map=frames, **small("dqn"))
    assert contents(tmp_path / "memory") == contents(tmp_path / "file")


def test_replay_too_large_for_the_machine_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=r"GB of memory and .* GB are free: give a smaller"):
        train("dqn", Catch, tmp_path / "run", buffer_size=10**9)
    assert not (tmp_path / "run").exists()


def test_memory_map_without_pixels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stored without frames"):
        Session(settings("dqn", "CartPole-v1", memory_map=str(tmp_path)), "CartPole-v1")


@pytest.mark.usefixtures("quick_compiler")
def test_controller_is_asked_piece_by_piece_and_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = train("nsac", Catch, tmp_path, **small("nsac"))
    whole = evaluate(policy, Catch, 3, seed=1)
    monkeypatch.setattr("policy_inertia.evaluation.evaluate.MOST_NUMBERS", 100_000)
    pieces = evaluate(policy, Catch, 3, seed=1)
    assert len(whole.mu) == len(pieces.mu) == sum(len(e.actions) - 1 for e in whole.episodes)
    np.testing.assert_allclose(whole.mu, pieces.mu, atol=1e-6)


# spaces ------------------------------------------------------------------------------------------


def spaces_of(shape, dtype=np.uint8):
    return Spaces.of(gym.spaces.Box(0, 255, shape, dtype), gym.spaces.Discrete(2), "env")


@pytest.mark.parametrize(
    ("shape", "image"),
    [((4, 84, 84), (4, 84, 84)), ((84, 90, 3), (3, 84, 90)), ((36, 40, 1), (1, 36, 40))],
)
def test_images_are_bytes_with_their_channels_first(shape: Any, image: Any) -> None:
    spaces = spaces_of(shape)
    obs = np.random.default_rng(0).integers(0, 256, (2, *shape), dtype=np.uint8)
    encoded = spaces.encode(obs)
    assert (spaces.spec.image, encoded.dtype) == (image, np.uint8)
    first = encoded.reshape(2, *image)
    last = shape[-1] == image[0]
    np.testing.assert_array_equal(first[:, 0], obs[..., 0] if last else obs[:, 0])
    np.testing.assert_array_equal(spaces.decode(encoded), obs)
    assert Spaces.from_dict(spaces.to_dict()) == spaces


@pytest.mark.parametrize("shape", [(84, 84), (4, 20, 84), (40, 3, 40), (20, 84, 84), (4, 4, 4)])
def test_bytes_that_are_no_images_for_the_convolutions_are_a_vector(shape: Any) -> None:
    assert spaces_of(shape).spec.image is None
    assert spaces_of((4, 84, 84), np.float32).spec.image is None


def test_papers_column_for_atari() -> None:
    nsac = settings("nsac", "policy_inertia/Qbert-v0")
    assert (nsac.buffer_size, nsac.batch_size, nsac.gamma) == (10**6, 64, 0.99)
    outer = dataclasses.asdict(nsac.config)
    core = outer.pop("core")
    assert core == dataclasses.asdict(settings("sac", "policy_inertia/Qbert-v0").config)
    assert (core["temperature"], core["target_rate"], core["train_interval"]) == (0.1, 0.005, 4)
    assert (outer["pic_learning_rate"], outer["temperature"]) == (3e-3, 1e-4)
    assert (outer["target_rate"], outer["train_interval"], outer["hidden"]) == (0.005, 4, (512,))
    dqn: Any = settings("dqn", "ALE/Breakout-v5").config
    assert (dqn.hidden, dqn.train_interval, dqn.target_period) == ((512,), 4, 10_000)
    assert (dqn.epsilon_decay, dqn.epsilon_final) == (5e-6, 0.1)


# learning: minutes each, so not in the quick tests ------------------------------------------------

_LEARNER = {"hidden": (64,), "learning_rate": 5e-4, "target_rate": 0.02, "train_interval": 2}
_SAC = {**_LEARNER, "temperature": 0.02, "at_once": True}
LEARNING: dict[str, dict[str, Any]] = {
    "dqn": {
        **{k: v for k, v in _LEARNER.items() if k != "target_rate"},
        "learning_rate": 1e-3,
        "target_period": 100,
        "epsilon_decay": 1e-3,
        "epsilon_final": 0.05,
    },
    "sac": _SAC,
    "nsac": {**_LEARNER, "at_once": True, "mu0": 0.2, "pic_learning_rate": 1e-3, "core": _SAC},
}
RANDOM = -1.2  # the return of random actions; standing still has -1.5, following the ball 6.5


@pytest.mark.slow
@pytest.mark.parametrize("method", LEARNING)
def test_pixel_game_is_learned(method: Any, tmp_path: Path) -> None:
    policy = train(
        method,
        Catch,
        tmp_path,
        steps=6_000,
        batch_size=16,
        buffer_size=6_000,
        learning_starts=200,
        gamma=0.8,
        eval_every=6_000,
        **LEARNING[method],
    )
    figures = evaluate(policy, Catch, 50, seed=1).summary()
    print(
        f"{method}: return {figures['return']:.1f}, oscillation {figures['oscillation_ratio']:.2f}"
    )
    assert figures["return"] > RANDOM + 2
    if policy.nested:
        alone = evaluate(policy.core(), Catch, 50, seed=1).summary()
        print(f"core: return {alone['return']:.1f}, oscillation {alone['oscillation_ratio']:.2f}")
        assert figures["oscillation_ratio"] < 0.9 * alone["oscillation_ratio"]
        assert figures["return"] > alone["return"] - 1
