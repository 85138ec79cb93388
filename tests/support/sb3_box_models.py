"""Models with continuous actions that Stable-Baselines3 trained for 40 steps; once per session."""

from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
from sb3_contrib import TQC, TRPO
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3

from tests.support.chase import Chase

REPLAY: dict[str, Any] = {"buffer_size": 200, "learning_starts": 20, "batch_size": 16}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sac": (SAC, REPLAY),
    "sac-sde": (SAC, {**REPLAY, "use_sde": True}),
    "tqc": (TQC, REPLAY),
    "td3": (TD3, REPLAY),
    "ddpg": (DDPG, REPLAY),
    "ppo": (PPO, {"n_steps": 20, "batch_size": 20}),
    "a2c-sde": (A2C, {"use_sde": True}),
    "trpo": (TRPO, {"n_steps": 20, "batch_size": 20}),
}


class Lopsided(Chase):
    """Bounds that differ, and do not lie around 0."""

    action_space: gym.Space[Any] = gym.spaces.Box(
        np.array([-2, 0.5], np.float32), np.array([2, 0.75], np.float32)
    )


@cache
def trained(name: str) -> Any:
    algorithm, settings = MODELS[name]
    network = {"net_arch": [16, 16]}  # SB3 writes into it
    model = algorithm(
        "MlpPolicy", Lopsided(), device="cpu", seed=0, policy_kwargs=network, **settings
    )
    return model.learn(40)
