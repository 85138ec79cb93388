import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import safetensors.numpy

from policy_inertia import InputError, Policy
from policy_inertia.actions.discrete import Categorical
from policy_inertia.policies.memory import PREVIOUS_ACTION, REMAINING
from tests.support import probes
from tests.support.policies import OBS, fresh, with_mu


def test_probabilities_are_the_mixture_of_core_and_repetition() -> None:
    policy = fresh()
    for prev in (0, 1):
        mu = policy.inertia(OBS, prev)[:, None]
        expected = mu * np.eye(2)[prev] + (1 - mu) * policy.core_probabilities(OBS)
        np.testing.assert_allclose(policy.probabilities(OBS, prev), expected, atol=1e-6)
    assert not policy.inertia(OBS).any()
    np.testing.assert_array_equal(policy.probabilities(OBS), policy.core_probabilities(OBS))
    np.testing.assert_array_equal(
        policy.core().probabilities(OBS, 1), policy.core_probabilities(OBS)
    )


def test_one_observation_and_a_batch_agree() -> None:
    policy = fresh()
    batch, _ = policy.predict(OBS, {PREVIOUS_ACTION: np.ones(16, int)}, deterministic=True)
    for i, obs in enumerate(OBS):
        action, state = policy.predict(obs, {PREVIOUS_ACTION: np.array([1])}, deterministic=True)
        assert np.ndim(action) == 0
        assert action == batch[i] == state[PREVIOUS_ACTION][0]


def test_full_inertia_repeats_until_the_episode_ends() -> None:
    policy = with_mu(fresh(), 60.0)
    first, state = policy.predict(OBS)
    for _ in range(5):
        action, state = policy.predict(OBS[::-1], state, np.zeros(16, bool))
        np.testing.assert_array_equal(action, first)
    start = np.arange(16) % 2 == 0
    draws = [policy.predict(OBS, state, start)[0] for _ in range(40)]
    assert (np.array(draws)[:, ~start] == first[~start]).all()
    assert (np.array(draws)[:, start] != first[start]).any(axis=0).all()


def test_sampling_follows_the_probabilities() -> None:
    policy = with_mu(fresh(), 0.3)
    policy.seed(0)
    obs = np.repeat(OBS[:1], 40_000, axis=0)
    actions, _ = policy.predict(obs, {PREVIOUS_ACTION: np.ones(len(obs), int)})
    expected = policy.probabilities(OBS[0], 1)
    share = np.bincount(actions, minlength=2) / len(obs)
    np.testing.assert_allclose(share, expected, atol=5 * 0.5 / np.sqrt(len(obs)))


def test_impossible_actions_are_never_drawn() -> None:
    log_pi = np.array([[-1e4, 0.0, -1e4]], np.float32).repeat(5000, axis=0)
    assert (Categorical(log_pi).sample(np.random.default_rng(0)) == 1).all()


def test_same_seed_same_actions() -> None:
    policy = fresh()
    actions = []
    for _ in range(2):
        policy.seed(3)
        actions.append(policy.predict(np.repeat(OBS, 50, axis=0))[0])
    np.testing.assert_array_equal(actions[0], actions[1])


def test_hysteresis_keeps_the_last_action_unless_another_is_better_by_tau() -> None:
    policy = fresh("sac")
    log_pi = np.log(policy.probabilities(OBS))
    gain = log_pi[:, 1] - log_pi[:, 0]
    tau = float(np.median(np.abs(gain)))
    for prev, advantage in ((0, gain), (1, -gain)):
        action, _ = policy.with_hysteresis(tau).predict(
            OBS, {PREVIOUS_ACTION: np.full(16, prev)}, deterministic=True
        )
        np.testing.assert_array_equal(action, np.where(advantage >= tau, 1 - prev, prev))
    assert 0 < (np.abs(gain) >= tau).sum() < 16


def test_hysteresis_compares_q_for_dqn_and_zero_changes_nothing_greedy() -> None:
    policy = fresh("dqn")
    prev = {PREVIOUS_ACTION: np.arange(16) % 2}
    plain, _ = policy.predict(OBS, prev, deterministic=True)
    none, _ = policy.with_hysteresis(0).predict(OBS, prev, deterministic=True)
    np.testing.assert_array_equal(plain, none)
    q = policy.acting(OBS, prev[PREVIOUS_ACTION]).scores
    frozen, _ = policy.with_hysteresis(2 * np.ptp(q)).predict(OBS, prev, deterministic=True)
    np.testing.assert_array_equal(frozen, prev[PREVIOUS_ACTION])


def test_repeating_policy_holds_its_action_for_the_chosen_time() -> None:
    policy = fresh("dqn-repeat")
    last = policy.params[-1]
    last["w"][:] = 0
    last["b"][:] = 0
    last["b"][..., 6] = 1  # action 1 for 4 steps, always
    _, state = policy.predict(OBS[0])
    last["b"][..., 3] = 2  # from now on: action 0 for 8 steps
    actions = []
    for _ in range(13):
        action, state = policy.predict(OBS[0], state)
        actions.append(int(action))
    assert actions == [1] * 3 + [0] * 8 + [0] * 2
    action, state = policy.predict(OBS[0], state, np.array([True]))
    assert state[REMAINING] == 7  # a new episode decides anew
    np.testing.assert_allclose(policy.probabilities(OBS[0]), [1, 0])


def test_one_fixed_duration_is_held_too() -> None:
    policy = fresh("sac", repeats=(3,))
    policy.seed(0)
    actions, state = [], None
    for _ in range(60):
        action, state = policy.predict(OBS[0], state)
        actions.append(int(action))
    held = np.array(actions).reshape(20, 3)
    assert (held == held[:, :1]).all()
    assert len(set(actions)) == 2


@pytest.mark.parametrize("method", ["dqn", "sac", "nsac", "ndqn", "dqn-repeat"])
def test_saved_policy_acts_alike(method: str, tmp_path: Path) -> None:
    policy = fresh(method)
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(policy.probabilities(OBS, 1), loaded.probabilities(OBS, 1))
    assert (loaded.method, loaded.config, loaded.repeats) == (
        method,
        policy.config,
        policy.repeats,
    )


def test_filtered_policy_and_core_are_saved_too(tmp_path: Path) -> None:
    fresh().core().with_hysteresis(0.5).save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    assert loaded.hysteresis == 0.5
    assert not loaded.nested


def test_mode_of_a_dial_is_saved_too(tmp_path: Path) -> None:
    for policy in fresh("dial-dqn").modes():
        policy.save(tmp_path / "p.safetensors")
        loaded = Policy.load(tmp_path / "p.safetensors")
        assert (loaded.config, loaded.mode) == (policy.config, policy.mode)
    assert "its critics begin" in policy.mode


def test_first_action_of_the_space_is_added() -> None:
    class Offset(probes.Probe):
        action_space = gym.spaces.Discrete(2, start=7)

    policy = with_mu(fresh(env=Offset), 60.0)
    action, state = policy.predict(np.zeros((3, 1)), {PREVIOUS_ACTION: np.array([0, 1, 1])})
    assert action.tolist() == [7, 8, 8]
    assert state[PREVIOUS_ACTION].tolist() == [0, 1, 1]


@pytest.mark.parametrize("shape", [(3,), (16, 3), (2, 2, 4), ()])
def test_observation_of_another_shape_is_refused(shape: Any) -> None:
    with pytest.raises(InputError, match=r"shape .* trained on CartPole-v1 with shape \(4,\)"):
        fresh("sac").predict(np.zeros(shape))


@pytest.mark.parametrize("prev", [-2, 2])
def test_previous_action_outside_the_space_is_refused(prev: int) -> None:
    with pytest.raises(InputError, match="0 to 1, or -1"):
        fresh().inertia(OBS, prev)


def test_hysteresis_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="0 or more"):
        fresh("sac").with_hysteresis(-1)
    with pytest.raises(InputError, match="holds its actions by itself"):
        fresh("dqn-repeat").with_hysteresis(1)


def test_files_that_are_no_policy_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    with pytest.raises(InputError, match="there is no file"):
        Policy.load(path)
    fresh("sac").save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(InputError, match="truncated"):
        Policy.load(path)
    path.write_bytes(b"GIF89a" * 50)
    with pytest.raises(InputError, match="not a complete safetensors"):
        Policy.load(path)
    path.write_bytes(safetensors.numpy.save({"x": np.zeros(3)}))
    with pytest.raises(InputError, match="another program"):
        Policy.load(path)
    header = safetensors.numpy.save(
        {"x": np.zeros(3)}, {"policy_inertia": json.dumps({"format": 99, "kind": "policy"})}
    )
    path.write_bytes(header)
    with pytest.raises(InputError, match=r"format 99 .* upgrade"):
        Policy.load(path)


def test_file_of_other_shapes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    policy = fresh("sac")
    policy.params[0]["w"] = policy.params[0]["w"][:, :5]
    policy.save(path)
    with pytest.raises(InputError, match="other settings"):
        Policy.load(path)


def test_stable_baselines_own_evaluation_runs_it_unchanged() -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    # SB3 says that a state is a tuple; it only passes it on, so a dictionary does as well
    policy: Any = with_mu(fresh(env=probes.Repeat), 60.0)
    rewards, lengths = evaluate_policy(
        policy,
        make_vec_env(probes.Repeat, 3),
        n_eval_episodes=6,
        deterministic=False,
        return_episode_rewards=True,
    )
    # every step but the first repeats: only a carried previous action earns that
    assert rewards == [9.0] * 6
    assert lengths == [10] * 6
