"""Stable-Baselines3 takes the tasks as they are."""

import gymnasium as gym
import pytest

from policy_inertia.envs.highway import TASKS


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # it recommends flattening; DQN does that
def test_its_checker_accepts_the_env(task: str) -> None:
    from stable_baselines3.common.env_checker import check_env

    check_env(gym.make(f"policy_inertia/{task}-v0").unwrapped, skip_render_check=True)


def test_its_dqn_trains_and_our_evaluation_runs_it() -> None:
    from stable_baselines3 import DQN

    from policy_inertia import evaluate

    name = "policy_inertia/TwoWay-v0"
    model = DQN("MlpPolicy", gym.make(name), learning_starts=100, device="cpu", seed=0)
    model.learn(400)
    figures = evaluate(model, name, 5, deterministic=True).summary()
    assert figures["episodes"] == 5
    assert figures["return"] > 0
    assert 0 <= figures["crash_rate"] <= 1
