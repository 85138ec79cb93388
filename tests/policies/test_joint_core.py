"""Heads as one list of combinations: a controller with a price for each head."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest

from policy_inertia import InputError, evaluate, export, load_core, smooth
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.envs.joint_actions import JointActions, head_costs
from policy_inertia.policies.cores import Core
from policy_inertia.policies.joint_core import joint_core
from tests.support import probes
from tests.support.heads_env import Mixer, Switches


def joint_switches() -> gym.Env:
    return JointActions(Switches())


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Core:
    """A PPO with MultiBinary actions that Stable-Baselines3 trained for a few hundred steps."""
    from stable_baselines3 import PPO

    path = tmp_path_factory.mktemp("joint") / "switches.zip"
    model = PPO("MlpPolicy", Switches(), device="cpu", seed=0, n_steps=128, n_epochs=4)
    model.learn(400).save(path)
    return load_core(path, Switches)


def test_env_takes_combinations() -> None:
    env = JointActions(Mixer())
    assert env.action_space == gym.spaces.Discrete(24)
    assert env.action(0).tolist() == [0, 1, 0]  # the second head counts from 1
    assert env.action(23).tolist() == [2, 2, 3]
    assert env.action(5).tolist() == [0, 2, 1]


def test_costs_are_the_prices_of_the_heads_that_switch() -> None:
    costs = np.reshape(head_costs(MultiDiscrete((2, 2), (0, 0)), (1.0, 3.0)), (4, 4))
    assert costs.tolist() == [[0, 3, 1, 4], [3, 0, 4, 1], [1, 4, 0, 3], [4, 1, 3, 0]]


def test_core_acts_as_before(core: Core) -> None:
    joint, env = joint_core(core), JointActions(Switches())
    pairs = zip(
        evaluate(core, Switches, 5, 0, True).episodes,
        evaluate(joint, joint_switches, 5, 0, True).episodes,
        strict=True,
    )
    for episode, other in pairs:
        assert episode.return_ == other.return_
        assert episode.actions.tolist() == [env.action(a).tolist() for a in other.actions]
    obs = np.zeros((1, 3), np.float32)
    heads = core.probabilities(obs)[0].reshape(3, 2)
    both = np.einsum("i,j,k->ijk", *heads).ravel()
    np.testing.assert_allclose(joint.probabilities(obs)[0], both, atol=1e-6)


def test_controller_has_a_price_for_each_head(core: Core, tmp_path: Path) -> None:
    heads: Any = core.spaces.actions
    result = smooth(
        joint_core(core),
        joint_switches,
        steps=200,
        train=True,
        episodes=4,
        calibration_episodes=2,
        costs=head_costs(heads, (1.0, 1.0, 5.0)),
        out=tmp_path / "out",
    )
    policy = result.candidates["controller"].policy
    assert policy.config.costs == head_costs(heads, (1.0, 1.0, 5.0))
    export(policy, tmp_path / "policy.onnx")
    session, env = onnxruntime.InferenceSession(tmp_path / "policy.onnx"), joint_switches()
    for seed in range(3):
        obs, _ = env.reset(seed=seed)
        state, previous, done = None, np.array([-1]), False
        while not done:
            action, state = policy.predict(obs, state, None, True)
            feed = {"observation": obs[None], "previous_action": previous}
            (previous,) = session.run(["action"], feed)
            assert previous == [action]
            obs, _, _, done, _ = env.step(action)


def test_what_has_no_combinations_is_refused(core: Core) -> None:
    with pytest.raises(InputError, match="joint actions are for heads"):
        JointActions(probes.Repeat())
    with pytest.raises(InputError, match=r"1,048,576 combinations, of which 1,024 can be learned"):
        head_costs(MultiDiscrete((2,) * 20, (0,) * 20))
    with pytest.raises(InputError, match="give the core alone"):
        joint_core(core.with_hysteresis(0.1))
    with pytest.raises(InputError, match=r"joint_core\(core\)"):
        smooth(core, Switches, limit=(0.1, 2), train=True)
