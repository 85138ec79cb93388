from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor

import policy_inertia as pi
from tests.support.chase import LENGTH, Chase, Follower, follow


def test_last_step_of_an_episode_has_the_figures_of_its_actions() -> None:
    env = pi.RecordOscillation(Chase(), step_time=0.1)
    for seed in (0, 1):
        obs, info = env.reset(seed=seed)
        over, actions, infos = False, [], []
        while not over:
            actions.append(follow(obs))
            obs, _, _, over, info = env.step(actions[-1])
            infos.append(info)
        assert all(not earlier for earlier in infos[:-1])
        figures = pi.measure(np.array(actions), step_time=0.1, bounds=(-2, 2)).figures
        assert info == pytest.approx({f"oscillation/{k}": v for k, v in figures.items()})


def test_discrete_actions_are_measured_too() -> None:
    env = pi.RecordOscillation(gym.make("CartPole-v1"))
    env.reset(seed=0)
    info: dict[str, Any] = {}
    for t in range(100):
        _, _, over, _, info = env.step(t % 2)
        if over:
            break
    assert info["oscillation/oscillation_ratio"] > 0.9
    assert "oscillation/action_fluctuation" not in info


def test_figures_reach_the_monitor_of_stable_baselines3() -> None:
    name = "oscillation/action_fluctuation"
    env = Monitor(pi.RecordOscillation(Chase()), info_keywords=(name,))
    model = PPO("MlpPolicy", env, n_steps=LENGTH, batch_size=LENGTH, device="cpu").learn(LENGTH)
    episodes: Any = model.ep_info_buffer
    (episode,) = episodes
    assert 0 < episode[name] < 1


def test_evaluation_measures_the_same() -> None:
    seen: list[float] = []

    class Noting(pi.RecordOscillation):
        def step(self, action: Any) -> Any:
            step = super().step(action)
            seen.extend(v for k, v in step[4].items() if k == "oscillation/jerk")
            return step

    evaluation = pi.evaluate(Follower(), lambda: Noting(Chase()), 2)
    assert np.mean(seen) == pytest.approx(evaluation.summary()["jerk"])
