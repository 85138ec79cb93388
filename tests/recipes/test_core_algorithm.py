"""The recipe for a core algorithm, followed literally."""

from pathlib import Path

import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.algorithms.controllers.inertia import InertiaConfig
from policy_inertia.methods import METHODS, Method
from tests.support.recipes import Follow
from tests.support.runs import SHORT


def test_a_file_and_a_row_are_a_method_that_learns(follow: Follow, tmp_path: Path) -> None:
    follow("A core algorithm", METHODS)
    policy = pi.train("double-dqn", "CartPole-v1", tmp_path / "run", steps=6_000, seed=0)
    random = 22  # what random actions return on CartPole
    assert pi.evaluate(policy, "CartPole-v1").summary()["return"] > 2 * random


def test_its_policy_is_saved_resumed_and_smoothed_like_any(follow: Follow, tmp_path: Path) -> None:
    follow("A core algorithm", METHODS)
    policy = pi.train("double-dqn", "CartPole-v1", tmp_path / "run", **SHORT)
    loaded = pi.Policy.load(tmp_path / "run" / "policy.safetensors")
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    assert (loaded.predict(obs)[0] == policy.predict(obs)[0]).all()
    assert policy.deterministic
    assert policy.with_hysteresis(1e9).predict(obs, policy.predict(obs)[1])[0] == pytest.approx(
        policy.predict(obs)[0]
    )


def test_it_is_a_core_for_every_controller(follow: Follow, tmp_path: Path) -> None:
    names = follow("A core algorithm", METHODS)
    config = InertiaConfig(core=names["DoubleDQNConfig"]())
    METHODS["nested-double-dqn"] = Method("the paper's inertia around double DQN", config)
    policy = pi.train("nested-double-dqn", "CartPole-v1", tmp_path / "run", **SHORT)
    assert policy.nested
