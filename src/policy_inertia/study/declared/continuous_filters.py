"""Which filter costs least: every filter around continuous policies of Stable-Baselines3.

The settings of the cores start from RL Zoo's, with smaller networks and fewer steps: as short as
they can be so that the policy still acts. They were chosen with seed 1. So short a policy often
hovers on LunarLander, so its episodes end after 400 steps, in training too.
"""

from __future__ import annotations

from typing import Any

from policy_inertia.study.core_plan import Cell, Core, CoreStudy

BUDGETS = (0.75, 0.5, 0.35, 0.25, 0.15, 0.1)
"""Shares of the core's own action fluctuation."""
SAC: dict[str, Any] = {"batch_size": 128, "policy_kwargs": {"net_arch": [64, 64]}}
SLOW: dict[str, Any] = {
    **SAC,
    "learning_rate": 7.3e-4,
    "learning_starts": 2_000,
    "gradient_steps": 2,  # for four transitions
    "tau": 0.01,
}


def _cell(name: str, title: str, core: Core, episodes: int, calibration_episodes: int) -> Cell:
    return Cell(name, title, core, "filters", BUDGETS, episodes, calibration_episodes)


STUDY = CoreStudy(
    "filters",
    "Every filter around continuous policies of Stable-Baselines3",
    (
        _cell(
            "pendulum",
            "Pendulum",
            Core("SAC", "Pendulum-v1", 6_000, 1, {**SAC, "learning_rate": 1e-3}),
            episodes=60,
            calibration_episodes=20,
        ),
        _cell(
            "lunar-lander",
            "LunarLander",
            Core("SAC", "LunarLanderContinuous-v3", 25_000, 4, SLOW, {"max_episode_steps": 400}),
            episodes=32,
            calibration_episodes=8,
        ),
        _cell(
            "reacher",
            "Reacher",
            Core("SAC", "Reacher-v5", 15_000, 4, {**SLOW, "learning_rate": 1e-3}),
            episodes=100,
            calibration_episodes=20,
        ),
        _cell(
            "hopper",
            "Hopper",
            Core("SAC", "Hopper-v5", 30_000, 4, SLOW),
            episodes=50,
            calibration_episodes=10,
        ),
    ),
    seeds=(100, 101, 102, 103, 104),
)
