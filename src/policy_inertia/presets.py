"""Presets: settings of whole runs, by the class of the config that they belong to.

What a preset does not name, the defaults of the configs give: the paper's settings for Highway.
"""

from __future__ import annotations

from typing import Any

from policy_inertia.errors import InputError, nearest

Preset = dict[str, dict[str, Any]]
"""Settings by the name of a config class; those of a base class hold for its subclasses."""
ALONE = "no controller"
"""The key of what a preset adds for runs that decide at every step without a controller: a preset
itself."""

_CRITICS: dict[str, Any] = {  # of controllers that act by critics and learn from scratch
    "hidden": (128, 128),
    "learning_rate": 6e-4,
    "target_rate": 0.005,
    "averaged": 0.05,
}
DEFAULT: Preset = {
    "RunConfig": {"batch_size": 128, "normalise": True},
    ALONE: {
        "RunConfig": {"n_step": 3},
        "SACConfig": {
            "train_interval": 1,
            "target_rate": 0.005,
            "entropy_in_target": False,
            "pessimistic": False,
            "exploration": 0.12,
            "epsilon_final": 0.05,
            "longest_hold": 50,
            "averaged": 0.05,
            "scaled": True,
        },
    },
    "DQNConfig": {
        "hidden": (128, 128),
        "learning_rate": 6e-4,
        "train_interval": 1,
        "target_period": 500,
        "exploration": 0.12,
        "epsilon_final": 0.05,
        "longest_hold": 50,
        "averaged": 0.05,
        "double": True,
        "huber": 5.0,
        "scaled": True,
    },
    "TempoRLConfig": {"longest_hold": 1},  # it draws holds of its own
    "SACConfig": {
        "hidden": (128, 128),
        "learning_rate": 6e-4,
        "target_rate": 0.01,
        "auto_temperature": True,
        "target_entropy_ratio": 0.3,
        "huber": 5.0,
    },
    "InertiaConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
    "ValuedConfig": {"weighted": True},
    "DialConfig": _CRITICS,
    "LimitConfig": {**_CRITICS, "noise_per_token": 0.3},
}
"""For what people bring, in the number of steps that they ask for. Chosen with runs on CartPole,
Acrobot, MountainCar and LunarLander, with seeds below 100."""

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

# What MinAtar's paper gives for its DQN, with Adam for RMSprop, and the same network, learning rate
# and number of updates for the other methods. None of it was tuned.
_MINATAR_LEARNER = {"hidden": (128,), "learning_rate": 2.5e-4, "train_interval": 1}
_MINATAR_CONTROLLER = {**_MINATAR_LEARNER, "target_rate": 0.005, "at_once": True}
MINATAR: Preset = {
    "RunConfig": {
        "steps": 500_000,
        "batch_size": 32,
        "buffer_size": 100_000,
        "learning_starts": 5_000,
        "eval_every": 25_000,
        "checkpoint_seconds": 300.0,
    },
    "DQNConfig": {
        **_MINATAR_LEARNER,
        "target_period": 1_000,
        "exploration": 0.2,
        "epsilon_final": 0.1,
        "huber": 1.0,
    },
    "SACConfig": {
        **_MINATAR_CONTROLLER,
        "auto_temperature": True,
        "target_entropy_ratio": 0.3,
        "huber": 1.0,
    },
    "InertiaConfig": {**_MINATAR_CONTROLLER, "pic_learning_rate": 2.5e-4, "huber": 1.0},
    "ValuedConfig": _MINATAR_CONTROLLER,
}

BOX: Preset = {
    "RunConfig": {"batch_size": 256, "normalise": True, "buffer_size": 1_000_000},
}
"""For continuous actions, which the paper has none of: the configs have the usual settings."""

PRESETS: dict[str, dict[str, Preset]] = {
    "default": {"": DEFAULT, "atari": ATARI, "minatar": MINATAR, "box": BOX},
    "paper": {"": {}, "atari": ATARI, "box": BOX},
}
"""By name, and then by family: "box" for continuous actions, else the one that the task registry
gives an env; "" is all other envs."""


def find_preset(name: str, family: str = "") -> Preset:
    """Find a preset by its name, for an env of a family.

    Raises:
        InputError: There is no such preset.
    """
    if name not in PRESETS:
        raise InputError(f"there is no preset '{name}'{nearest(name, PRESETS)}")
    rows = PRESETS[name]
    return rows.get(family, rows[""])
