"""`VecSmoothActions` around Stable-Baselines3's vectorised envs."""

import numpy as np

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
