"""`SmoothActions`: an env that may repeat the last action."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, Limit, SmoothActions, load_core
from policy_inertia.algorithms.controllers.limit_gate import LimitGateConfig
from tests.support.policies import fresh, with_mu
from tests.support.recording_env import Loud, Recorder
from tests.support.switch_counter import violations

WISHES = np.random.default_rng(1).integers(0, 2, 40)


def walk(
    env: gym.Env, actions: np.ndarray, seed: int = 0
) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """The observations and the infos of an episode in which the agent wants these actions."""
    obs, _ = env.reset(seed=seed)
    observations, infos = [obs], []
    for action in actions:
        obs, _, _, _, info = env.step(action)
        observations.append(obs)
        infos.append(info)
    return observations, infos


def test_full_inertia_repeats_the_first_action() -> None:
    env = Recorder()
    wrapped = SmoothActions(env, with_mu(fresh(), 60.0))
    _, infos = walk(wrapped, WISHES)
    assert env.taken == [int(WISHES[0])] * 40
    assert [i["held"] for i in infos] == [w != WISHES[0] for w in WISHES]
    assert all(i["action_taken"] == WISHES[0] and i["own"] == 1 for i in infos)
    walk(wrapped, 1 - WISHES)  # in a new episode there is nothing to repeat
    assert env.taken == [int(1 - WISHES[0])] * 40


def test_no_inertia_lets_every_action_pass() -> None:
    env = Recorder()
    _, infos = walk(SmoothActions(env, with_mu(fresh(), -60.0)), WISHES)
    assert env.taken == WISHES.tolist()
    assert not any(i["held"] for i in infos)


def test_actions_are_repeated_with_probability_mu() -> None:
    policy = with_mu(fresh(), 0.3)
    mu = float(policy.inertia(np.zeros(4), 1))
    env = SmoothActions(Recorder(), policy)
    held = []
    for seed in range(60):
        env.reset(seed=seed)
        previous = env.step(0)[4]["action_taken"]
        for _ in range(49):
            info = env.step(1 - previous)[4]  # the agent always wants the other action
            held.append(info["held"])
            previous = info["action_taken"]
    assert abs(np.mean(held) - mu) < 4 * np.sqrt(mu * (1 - mu) / len(held))


def test_same_seed_gives_the_same_actions() -> None:
    policy = with_mu(fresh(), 0.0)
    episodes = []
    for _ in range(2):
        env = Recorder()
        walk(SmoothActions(env, policy), WISHES, seed=3)
        episodes.append(env.taken)
    assert episodes[0] == episodes[1]
    assert episodes[0] != WISHES.tolist()


def test_deterministic_repeats_where_mu_is_half() -> None:
    for x, held in ((0.01, True), (-0.01, False)):
        env = Recorder()
        walk(SmoothActions(env, with_mu(fresh(), x), deterministic=True), WISHES)
        assert env.taken == ([int(WISHES[0])] * 40 if held else WISHES.tolist())


@pytest.mark.parametrize("method", ["dqn", "sac", "nsac"])
def test_hysteresis_compares_the_agents_action_with_the_last(method: str) -> None:
    policy = fresh(method)
    tau = 0.05
    env = Recorder()
    observations, infos = walk(SmoothActions(env, policy, hysteresis=tau), WISHES)
    prev, expected = -1, []
    for obs, wish in zip(observations, WISHES.tolist(), strict=False):
        scores = policy.acting(obs[None], np.array([prev])).scores[0]
        prev = wish if prev < 0 or scores[wish] - scores[prev] >= tau else prev
        expected.append(prev)
    assert env.taken == expected
    assert 0 < sum(i["held"] for i in infos) < 39


def test_agent_that_acts_like_the_policy_follows_its_hysteresis() -> None:
    policy = fresh("dqn").with_hysteresis(0.02)
    env = Recorder()
    wrapped = SmoothActions(env, policy)
    obs, _ = wrapped.reset(seed=0)
    state, expected = None, []
    for _ in range(40):
        action, state = policy.predict(obs, state, deterministic=True)
        expected.append(int(action))
        agent = policy.acting(obs[None], np.array([-1])).policy.mode()[0]
        obs, *_ = wrapped.step(agent)
    assert env.taken == expected


def test_core_of_another_program_is_a_controller() -> None:
    w = np.random.default_rng(0).normal(size=(4, 2))
    core = load_core(lambda obs: obs @ w, Recorder, output="q")
    env = Recorder()
    walk(SmoothActions(env, core, hysteresis=1e9), WISHES)
    assert set(env.taken) == {int(WISHES[0])}
    walk(SmoothActions(env, core, hysteresis=0.0), WISHES)
    assert len(set(env.taken)) == 2


def test_actions_are_counted_as_the_env_counts_them() -> None:
    class Offset(Recorder):
        action_space = gym.spaces.Discrete(2, start=7)

    env = Offset()
    _, infos = walk(SmoothActions(env, with_mu(fresh(env=Offset), -60.0)), WISHES + 7)
    assert env.taken == [i["action_taken"] for i in infos] == (WISHES + 7).tolist()


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")
def test_gymnasiums_own_checker_finds_nothing_wrong() -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(SmoothActions(Recorder(), fresh()), skip_render_check=True)


def test_stepping_before_reset_is_refused() -> None:
    env = SmoothActions(Recorder(), fresh())
    with pytest.raises(InputError, match="reset the env first"):
        env.step(0)


def switching(env: gym.Env, episodes: int = 1) -> list[dict[str, Any]]:
    """The infos of episodes in which the agent wants another action at every step."""
    infos = []
    for seed in range(episodes):
        env.reset(seed=seed)
        infos += [env.step(t % 2)[4] for t in range(40)]
    return infos


def test_limit_needs_no_controller() -> None:
    env = Recorder()
    infos = switching(SmoothActions(env, limit=Limit(0.1, 2)))
    assert violations(env.taken, [(0.1, 2)] * 40) == []
    assert sum(np.diff(env.taken) != 0) == 5  # two at once, then one in ten steps
    assert [i["held"] for i in infos] == [i["action_taken"] != t % 2 for t, i in enumerate(infos)]


def test_limit_is_full_in_a_new_episode_unless_it_is_carried_over() -> None:
    for carry, expected in ((False, 3), (True, 0)):
        env = Recorder()
        switching(SmoothActions(env, limit=Limit(0, 3, carry)), episodes=2)
        assert sum(np.diff(env.taken) != 0) == expected  # in the second episode


def test_limit_has_the_last_word_after_any_controller() -> None:
    limit = Limit(0.1, 2)
    for controller in (with_mu(fresh(), -60.0), fresh("dqn").with_hysteresis(0.0), fresh("dqn")):
        env = Recorder()
        switching(SmoothActions(env, controller, limit=limit))
        assert violations(env.taken, [(0.1, 2)] * 40) == []
        assert len(set(env.taken)) == 2


def test_agent_that_acts_like_the_core_follows_a_policy_that_plans_with_a_limit() -> None:
    policy = fresh("limit-dqn", env=Loud).with_limit(0.1, 2)
    gate = policy.replace(config=LimitGateConfig(**vars(policy.config)))
    env = Loud()
    wrapped = SmoothActions(env, policy)
    obs, _ = wrapped.reset(seed=0)
    state, expected = None, []
    for _ in range(40):
        action, state = gate.predict(obs, state, deterministic=True)
        expected.append(int(action))
        agent = policy.core().acting(obs[None], np.array([-1])).policy.mode()[0]
        obs, *_ = wrapped.step(agent)
    assert env.taken == expected
    assert 0 < sum(np.diff(expected) != 0) <= 5


def test_env_without_a_controller_needs_a_limit() -> None:
    with pytest.raises(InputError, match="the controller is NoneType: give a Policy"):
        SmoothActions(Recorder())
