"""`smooth` around policies that Stable-Baselines3 and sb3-contrib trained, on seven tasks.

The settings of the cores start from RL Zoo's, without its schedules and normalisation, and with
fewer steps for PPO.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from policy_inertia.study.core_plan import Cell, Core, CoreStudy
from policy_inertia.study.declared.paper import SIMPLE

BUDGETS = (0.5, 0.25, 0.1)
"""Shares of the core's own oscillation ratio."""
WIDE: dict[str, Any] = {"net_arch": [256, 256]}
STEPS = 50_000  # of the controller
CARTPOLE: dict[str, Any] = {
    "learning_rate": 2.3e-3,
    "batch_size": 64,
    "buffer_size": 100_000,
    "learning_starts": 1_000,
    "target_update_interval": 10,
    "train_freq": 256,
    "gradient_steps": 128,
    "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04,
}
VALUES: dict[str, Any] = {  # Acrobot and LunarLander
    "learning_rate": 6.3e-4,
    "batch_size": 128,
    "buffer_size": 50_000,
    "learning_starts": 1_000,
    "target_update_interval": 250,
    "train_freq": 4,
    "gradient_steps": -1,
    "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1,
}
TWO_WAY: dict[str, Any] = {
    "learning_rate": 5e-4,
    "batch_size": 64,
    "buffer_size": 60_000,
    "learning_starts": 1_000,
    "target_update_interval": 500,
    "train_freq": 1,
    "gradient_steps": 2,  # for four transitions
    "exploration_fraction": 0.3,
}
DQN: dict[str, Any] = {"policy_kwargs": WIDE}
QRDQN: dict[str, Any] = {"policy_kwargs": {**WIDE, "n_quantiles": 25}}
SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [64, 64]}}
SMALL_QRDQN: dict[str, Any] = {"policy_kwargs": {"net_arch": [64, 64], "n_quantiles": 25}}


def _cell(task: str, title: str, core: Core, episodes: int = 200) -> Cell:
    name = f"{core.algorithm.lower()}-{task}"
    full = f"{core.algorithm}, {title}"
    return Cell(name, full, core, "transfer", BUDGETS, episodes, 20, STEPS)


def _two_way(algorithm: str, steps: int, envs: int, settings: dict[str, Any]) -> Cell:
    core = Core(algorithm, SIMPLE.env, steps, envs, settings, SIMPLE.settings["env_kwargs"])
    return _cell("two-way", SIMPLE.name, core, episodes=400)


def _signal(task: str, title: str, core: Core) -> Cell:
    """A cell of one of the small tasks: three seeds, and a short training of the controller."""
    return dataclasses.replace(_cell(task, title, core), steps=STEPS // 2, seeds=3)


ON_POLICY: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 256,
    "gamma": 0.9,
    "learning_rate": 1e-3,
}
RECURRENT: dict[str, Any] = {
    "policy": "MlpLstmPolicy",
    "policy_kwargs": {"lstm_hidden_size": 32, "net_arch": [32], "enable_critic_lstm": False},
}
SIGNALS: tuple[Cell, ...] = (
    _signal(
        "signals", "seven heads", Core("PPO", "policy_inertia/Signals-v0", 80_000, 8, ON_POLICY)
    ),
    _signal(
        "masked-signal",
        "action masks",
        Core("MaskablePPO", "policy_inertia/MaskedSignal-v0", 60_000, 8, ON_POLICY),
    ),
    _signal(
        "hidden-signal",
        "a memory",
        Core(
            "RecurrentPPO",
            "policy_inertia/HiddenSignal-v0",
            60_000,
            8,
            {**ON_POLICY, "n_epochs": 5, **RECURRENT},
        ),
    ),
)
"""Cores with several heads, with action masks and with a memory, on small tasks."""

STUDY = CoreStudy(
    "transfer",
    "smooth around policies of Stable-Baselines3 and sb3-contrib",
    (
        _cell("cartpole", "CartPole", Core("DQN", "CartPole-v1", 50_000, 1, {**CARTPOLE, **DQN})),
        _cell(
            "cartpole",
            "CartPole",
            Core(
                "PPO",
                "CartPole-v1",
                100_000,
                8,
                {
                    "n_steps": 32,
                    "batch_size": 256,
                    "gae_lambda": 0.8,
                    "gamma": 0.98,
                    "n_epochs": 20,
                    "learning_rate": 1e-3,
                },
            ),
        ),
        _cell(
            "cartpole", "CartPole", Core("QRDQN", "CartPole-v1", 50_000, 1, {**CARTPOLE, **QRDQN})
        ),
        _cell("acrobot", "Acrobot", Core("DQN", "Acrobot-v1", 100_000, 1, {**VALUES, **DQN})),
        _cell(
            "acrobot",
            "Acrobot",
            Core(
                "PPO",
                "Acrobot-v1",
                200_000,
                16,
                {"n_steps": 256, "gae_lambda": 0.94, "n_epochs": 4, "batch_size": 64},
            ),
        ),
        _cell("acrobot", "Acrobot", Core("QRDQN", "Acrobot-v1", 100_000, 1, {**VALUES, **QRDQN})),
        _cell(
            "lunar-lander",
            "LunarLander",
            Core("DQN", "LunarLander-v3", 100_000, 1, {**VALUES, **DQN}),
        ),
        _cell(
            "lunar-lander",
            "LunarLander",
            Core(
                "PPO",
                "LunarLander-v3",
                400_000,
                16,
                {
                    "n_steps": 1_024,
                    "batch_size": 64,
                    "gae_lambda": 0.98,
                    "gamma": 0.999,
                    "n_epochs": 4,
                    "ent_coef": 0.01,
                },
            ),
        ),
        _cell(
            "lunar-lander",
            "LunarLander",
            Core("QRDQN", "LunarLander-v3", 100_000, 1, {**VALUES, **QRDQN}),
        ),
        _two_way("DQN", 60_000, 4, {**TWO_WAY, **SMALL}),
        _two_way("PPO", 100_000, 8, {"n_steps": 128, "batch_size": 256, "gamma": 0.95}),
        _two_way("QRDQN", 60_000, 4, {**TWO_WAY, **SMALL_QRDQN}),
        *SIGNALS,
    ),
    seeds=(100, 101, 102, 103, 104),
)
