"""`VecSmoothActions` around Stable-Baselines3's vectorised envs."""

import numpy as np

from policy_inertia import Limit
from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from tests.support.policies import fresh, with_mu
from tests.support.recording_env import Recorder


def test_each_env_repeats_its_own_action_until_its_episode_ends() -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = [Recorder(), Recorder()]
    first, second = envs
    vec = VecSmoothActions(DummyVecEnv([lambda: first, lambda: second]), with_mu(fresh(), 60.0))
    vec.seed(0)
    vec.reset()
    _, _, _, infos = vec.step(np.array([0, 1]))
    assert [i["held"] for i in infos] == [False, False]
    for _ in range(49):
        _, _, done, infos = vec.step(np.array([1, 0]))
        assert [i["held"] for i in infos] == [True, True]
        assert [i["action_taken"] for i in infos] == [0, 1]
    assert done.all()
    vec.step(np.array([1, 0]))  # in a new episode there is nothing to repeat
    assert [e.taken for e in envs] == [[1], [0]]


def test_stable_baselines_trains_inside_it() -> None:
    from stable_baselines3 import A2C
    from stable_baselines3.common.env_util import make_vec_env

    vec = VecSmoothActions(make_vec_env("CartPole-v1", 2), fresh("sac"), hysteresis=0.1)
    A2C("MlpPolicy", vec, device="cpu", seed=0).learn(40)


def test_each_env_has_its_own_tokens() -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv

    first, second = Recorder(), Recorder()
    vec = VecSmoothActions(DummyVecEnv([lambda: first, lambda: second]), limit=Limit(0, 2))
    vec.reset()
    for t in range(49):
        vec.step(np.array([t % 2, 0]))  # the first agent switches at every step
    assert sum(np.diff(first.taken) != 0) == 2
    _, _, done, _ = vec.step(np.array([0, 1]))
    assert done.all()
    for t in range(6):
        vec.step(np.array([0, t % 2]))
    assert sum(np.diff(second.taken) != 0) == 2  # a full bucket in the new episode
