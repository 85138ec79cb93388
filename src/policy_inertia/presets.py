"""Presets: settings that work on a task, by the class of the config that they belong to.

Where no preset is listed, the defaults of the configs hold: the paper's settings for Highway.
"""

from __future__ import annotations

from typing import Any

Preset = dict[str, dict[str, Any]]
"""Settings by the name of a config class; those of a base class hold for its subclasses."""

CLASSIC: Preset = {
    "DQNConfig": {
        "learning_rate": 1e-3,
        "target_period": 50,
        "epsilon_decay": 2e-4,
        "epsilon_final": 0.05,
    },
    "SACConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
    "InertiaConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
    "ValuedConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
}

# The paper's column for Atari. Ours are how often to evaluate (in the paper 20 rollouts every 5,000
# steps) and, because the paper does not state them, the number of steps and when to start learning.
_ATARI_CONTROLLER = {
    "hidden": (512,),
    "train_interval": 4,
    "target_rate": 0.005,
    "at_once": True,
}
ATARI: Preset = {
    "RunConfig": {
        "steps": 1_000_000,
        "buffer_size": 1_000_000,
        "learning_starts": 20_000,
        "eval_every": 100_000,
        "eval_episodes": 10,
        "final_episodes": 20,
        "calibration_episodes": 10,
        "checkpoint_seconds": 600.0,
    },
    "DQNConfig": {"hidden": (512,), "train_interval": 4},
    "SACConfig": {"hidden": (512,), "train_interval": 4, "target_rate": 0.005, "at_once": True},
    "InertiaConfig": {**_ATARI_CONTROLLER, "pic_learning_rate": 3e-3, "temperature": 1e-4},
    "ValuedConfig": _ATARI_CONTROLLER,
}

PRESETS: dict[str, Preset] = {"CartPole-v1": CLASSIC, "atari": ATARI}
"""By an env's id, or by the family that the task registry gives it."""


def preset_of(env: str, family: str = "") -> Preset:
    """The preset of an env, else of its family, else no settings."""
    return PRESETS.get(env) or PRESETS.get(family, {})
