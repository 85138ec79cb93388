"""Tasks: any Gymnasium env with discrete actions, and the few we keep settings for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Task:
    """What we know of a task: a line about it, and settings that work, by the config's class.

    Where nothing is listed, the paper's settings for Highway are the defaults. Where the task is
    tested otherwise than it is trained, `eval_env_kwargs` are the env's arguments then.
    """

    about: str
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    eval_env_kwargs: dict[str, Any] = field(default_factory=dict)


_CLASSIC = {
    "DQNConfig": {
        "learning_rate": 1e-3,
        "target_period": 50,
        "epsilon_decay": 2e-4,
        "epsilon_final": 0.05,
    },
    "SACConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
    "NestedConfig": {"learning_rate": 1e-3, "target_rate": 0.02},
}

# The paper's column for Atari. Ours where it does not say: how long, how often to look, and when
# to begin learning. Whatever was asked for in training, what a game is tested by is its score.
_ATARI: dict[str, dict[str, Any]] = {
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
    "NestedConfig": {
        "hidden": (512,),
        "train_interval": 4,
        "target_rate": 0.005,
        "pic_learning_rate": 3e-3,
        "temperature": 1e-4,
        "at_once": True,
    },
}
_SCORED = {"episodic_life": False, "reward_clipping": False}

TASKS: dict[str, Task] = {
    "CartPole-v1": Task("balance a pole on a cart: push left or right; at most 500", _CLASSIC),
    "policy_inertia/LaneChange-v0": Task(
        "drive fast on a highway with four lanes", eval_env_kwargs={"preset": "paper-test"}
    ),
    "policy_inertia/Merge-v0": Task("let a car on the ramp merge"),
    "policy_inertia/Intersection-v0": Task("turn left at a crossing without lights"),
    "policy_inertia/TwoWay-v0": Task("overtake against oncoming traffic"),
    "policy_inertia/MsPacman-v0": Task(
        "Atari: eat the dots, keep clear of the ghosts", _ATARI, _SCORED
    ),
    "policy_inertia/SpaceInvaders-v0": Task(
        "Atari: shoot the invaders before they land", _ATARI, _SCORED
    ),
    "policy_inertia/Qbert-v0": Task("Atari: hop on every cube of the pyramid", _ATARI, _SCORED),
    "policy_inertia/JamesBond-v0": Task(
        "Atari: drive, dive and shoot past what comes", _ATARI, _SCORED
    ),
}


def task_of(env: str) -> Task:
    """What we know of an env; of a game that is not listed, how it is tested."""
    if env not in TASKS and env.startswith(("policy_inertia/", "ALE/")):
        return Task("Atari, from pixels", _ATARI, _SCORED)
    return TASKS.get(env, Task(""))
