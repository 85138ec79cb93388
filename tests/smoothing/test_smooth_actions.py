"""Smoothing inside the env: what is held, and when."""

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, SmoothActions, load_core
from tests.support import probes
from tests.support.calibrations import reaching
from tests.support.policies import fresh, with_mu


class Steps(gym.Env):
    """An env that shows what was done to it."""

    observation_space = gym.spaces.Box(-10, 10, (4,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.taken = []
        return self._obs(), {"fresh": True}

    def _obs(self):
        return self.np_random.normal(size=4).astype(np.float32)

    def step(self, action):
        self.taken.append(int(action))
        return self._obs(), 0.0, False, len(self.taken) >= 50, {"own": 1}


def walk(env, actions, seed=0):
    obs, _ = env.reset(seed=seed)
    seen, infos = [obs], []
    for action in actions:
        obs, _, _, _, info = env.step(action)
        seen.append(obs)
        infos.append(info)
    return seen, infos


WISHES = np.random.default_rng(1).integers(0, 2, 40)


def test_full_inertia_holds_the_first_action():
    env = Steps()
    wrapped = SmoothActions(env, with_mu(fresh(), 60.0))
    _, infos = walk(wrapped, WISHES)
    assert env.taken == [int(WISHES[0])] * 40
    assert [i["held"] for i in infos] == [w != WISHES[0] for w in WISHES]
    assert all(i["action_taken"] == WISHES[0] and i["own"] == 1 for i in infos)
    walk(wrapped, 1 - WISHES)  # a new episode begins anew
    assert env.taken == [int(1 - WISHES[0])] * 40


def test_no_inertia_lets_everything_through():
    env = Steps()
    _, infos = walk(SmoothActions(env, with_mu(fresh(), -60.0)), WISHES)
    assert env.taken == WISHES.tolist()
    assert not any(i["held"] for i in infos)


def test_holding_has_probability_mu():
    policy = with_mu(fresh(), 0.3)
    mu = float(policy.inertia(np.zeros(4), 1))
    env = SmoothActions(Steps(), policy)
    held = []
    for seed in range(60):
        env.reset(seed=seed)
        previous = env.step(0)[4]["action_taken"]
        for _ in range(49):
            info = env.step(1 - previous)[4]  # always asks for the other action
            held.append(info["held"])
            previous = info["action_taken"]
    assert abs(np.mean(held) - mu) < 4 * np.sqrt(mu * (1 - mu) / len(held))


def test_same_seed_same_actions_taken():
    policy = with_mu(fresh(), 0.0)
    runs = []
    for _ in range(2):
        env = Steps()
        walk(SmoothActions(env, policy), WISHES, seed=3)
        runs.append(env.taken)
    assert runs[0] == runs[1]
    assert runs[0] != WISHES.tolist()


def test_deterministic_holds_where_mu_is_half():
    for x, held in ((0.01, True), (-0.01, False)):
        env = Steps()
        walk(SmoothActions(env, with_mu(fresh(), x), deterministic=True), WISHES)
        assert env.taken == ([int(WISHES[0])] * 40 if held else WISHES.tolist())


@pytest.mark.parametrize("method", ["dqn", "sac", "nsac"])
def test_hysteresis_compares_the_agents_action_with_the_last(method):
    policy = fresh(method)
    tau = 0.05
    env = Steps()
    seen, infos = walk(SmoothActions(env, policy, hysteresis=tau), WISHES)
    prev, expected = -1, []
    for obs, wish in zip(seen, WISHES.tolist(), strict=False):
        scores = policy.acting(obs[None], np.array([prev])).scores[0]
        prev = wish if prev < 0 or scores[wish] - scores[prev] >= tau else prev
        expected.append(prev)
    assert env.taken == expected
    assert 0 < sum(i["held"] for i in infos) < 39


def test_agent_that_is_the_core_follows_the_policy_with_hysteresis():
    policy = fresh("dqn").with_hysteresis(0.02)
    env = Steps()
    wrapped = SmoothActions(env, policy)
    obs, _ = wrapped.reset(seed=0)
    state, expected = None, []
    for _ in range(40):
        alone, state = policy.predict(obs, state, deterministic=True)
        expected.append(int(alone))
        agent = policy.acting(obs[None], np.array([-1])).log_pi.argmax()
        obs, *_ = wrapped.step(agent)
    assert env.taken == expected


@pytest.mark.parametrize("price", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("act", ["gate", "full"])
def test_agent_that_is_a_dials_core_follows_the_dial_as_a_gate(price, act):
    dial = reaching(fresh("dial-dqn", act=act), 2.0).at(price)
    gate = Filter(dial, None, False, dial.spaces)
    rng = np.random.default_rng(0)
    obs, prev = rng.normal(size=(500, 4)).astype(np.float32), rng.integers(0, 2, 500)
    agent = dial.core().acting(obs, prev).log_pi.argmax(1)
    expected = dial.modes()[-2].acting(obs, prev).log_pi.argmax(1)
    np.testing.assert_array_equal(np.where(gate.held(obs, prev, agent), prev, agent), expected)
    one = [gate.held_one(o, int(p), int(a)) for o, p, a in zip(obs, prev, agent, strict=True)]
    np.testing.assert_array_equal(one, (expected != agent))
    assert not gate.held(obs, np.full(500, -1), agent).any()  # an agent begins as it likes
    assert any(one)


def test_core_of_somebody_elses_is_a_controller():
    w = np.random.default_rng(0).normal(size=(4, 2))
    core = load_core(lambda obs: obs @ w, Steps, output="q")
    env = Steps()
    walk(SmoothActions(env, core, hysteresis=1e9), WISHES)
    assert set(env.taken) == {int(WISHES[0])}
    walk(SmoothActions(env, core, hysteresis=0.0), WISHES)
    assert len(set(env.taken)) == 2


def test_first_action_of_the_space_is_kept():
    class Offset(Steps):
        action_space = gym.spaces.Discrete(2, start=7)

    env = Offset()
    walk(SmoothActions(env, with_mu(fresh(env=Offset), -60.0)), WISHES + 7)
    assert env.taken == (WISHES + 7).tolist()


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")
def test_gymnasiums_own_checker_finds_nothing_wrong():
    from gymnasium.utils.env_checker import check_env

    check_env(SmoothActions(Steps(), fresh()), skip_render_check=True)


def test_vectorised_envs_of_stable_baselines():
    from stable_baselines3.common.vec_env import DummyVecEnv

    from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions

    envs = [Steps(), Steps()]
    vec = VecSmoothActions(DummyVecEnv([lambda e=e: e for e in envs]), with_mu(fresh(), 60.0))
    vec.seed(0)
    vec.reset()
    _, _, _, infos = vec.step(np.array([0, 1]))
    assert [i["held"] for i in infos] == [False, False]
    for _ in range(49):
        _, _, done, infos = vec.step(np.array([1, 0]))
        assert [i["held"] for i in infos] == [True, True]
        assert [i["action_taken"] for i in infos] == [0, 1]
    assert done.all()
    vec.step(np.array([1, 0]))  # after the reset there is nothing to hold
    assert [e.taken for e in envs] == [[1], [0]]


def test_stable_baselines_trains_inside_it():
    from stable_baselines3 import A2C
    from stable_baselines3.common.env_util import make_vec_env

    from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions

    vec = VecSmoothActions(make_vec_env("CartPole-v1", 2), fresh("sac"), hysteresis=0.1)
    A2C("MlpPolicy", vec, device="cpu", seed=0).learn(40)


@pytest.mark.parametrize(
    ("controller", "hysteresis", "says"),
    [
        (lambda: fresh("dqn"), None, "has no inertia controller: say hysteresis="),
        (lambda: fresh("dqn"), -1.0, "0 or more"),
        (lambda: fresh("nsac", env=probes.Repeat), None, "put the wrapper where the env gives"),
        (lambda: fresh("dqn-repeat"), 1.0, "carries how long it still holds"),
        (lambda: load_core(lambda obs: 0, Steps), 1.0, "gives actions only"),
        (lambda: "nsac", 1.0, "the controller is str"),
    ],
)
def test_bad_controllers_are_refused(controller, hysteresis, says):
    with pytest.raises(InputError, match=says):
        SmoothActions(Steps(), controller(), hysteresis=hysteresis)


def test_stepping_before_reset_is_an_error_of_the_user():
    env = SmoothActions(Steps(), fresh())
    with pytest.raises(InputError, match="reset the env first"):
        env.step(0)
