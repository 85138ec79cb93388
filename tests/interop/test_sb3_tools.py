"""Our policies in the tools of Stable-Baselines3: recorder, evaluation and callbacks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from tests.support.policies import fresh, with_mu


@pytest.mark.filterwarnings("ignore")  # moviepy and pygame warn about themselves
def test_stable_baselines_records_a_video_of_our_policy(tmp_path: Path) -> None:
    import gymnasium as gym
    from stable_baselines3.common.vec_env import DummyVecEnv, VecVideoRecorder

    vec = DummyVecEnv([lambda: gym.make("CartPole-v1", render_mode="rgb_array")])
    recorder = VecVideoRecorder(vec, str(tmp_path), lambda step: step == 0, video_length=20)
    policy = fresh()
    obs, state, start = recorder.reset(), None, np.ones(1, bool)
    for _ in range(21):
        assert isinstance(obs, np.ndarray)
        action, state = policy.predict(obs, state, start)
        obs, _, start, _ = recorder.step(action)
    recorder.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000


def test_evaluate_policy_calls_back_with_our_policy() -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    policy: Any = fresh("dqn")  # SB3 annotates the state as a tuple, and only passes it on
    actions = []
    mean, _ = evaluate_policy(
        policy,
        make_vec_env("CartPole-v1", 2, seed=0),
        4,
        callback=lambda here, there: actions.append(here["actions"].copy()),
    )
    assert isinstance(mean, float)
    assert mean > 0
    assert len(actions) > 8


def test_eval_callback_evaluates_an_agent_inside_a_smoothed_env(tmp_path: Path) -> None:
    from stable_baselines3 import A2C
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.env_util import make_vec_env

    vec = make_vec_env("CartPole-v1", 1, seed=0)
    smoothed = VecSmoothActions(make_vec_env("CartPole-v1", 1, seed=0), with_mu(fresh(), 60.0))
    callback = EvalCallback(
        smoothed, eval_freq=20, n_eval_episodes=2, log_path=str(tmp_path), verbose=0
    )
    with pytest.warns(UserWarning, match="not of the same type"):  # only one of them is smoothed
        A2C("MlpPolicy", vec, device="cpu", seed=0).learn(40, callback=callback)
    returns = np.load(tmp_path / "evaluations.npz", allow_pickle=False)["results"]
    assert returns.shape == (2, 2)
    assert (returns <= 12).all()  # the pole falls if one action is held for ever
