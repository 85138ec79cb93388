"""The tasks that the library knows more about than their Gymnasium id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Task:
    """What is known of a task."""

    about: str
    """One line about it."""
    family: str = ""
    """Tasks of one family share a preset; see `presets.PRESETS`."""
    eval_env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Env arguments that evaluation overrides."""
    highway_module: str = ""
    """Of a Highway task: the module that defines it."""


_SCORED = {"episodic_life": False, "reward_clipping": False}  # a game is evaluated by its score


def _atari(about: str) -> Task:
    return Task(about, "atari", _SCORED)


def _minatar(about: str) -> Task:
    return Task(about, "minatar")


def _highway(file: str, about: str, **eval_env_kwargs: Any) -> Task:
    module = f"policy_inertia.envs.highway.tasks.{file}"
    return Task(about, eval_env_kwargs=eval_env_kwargs, highway_module=module)


def _signals(about: str) -> Task:
    return Task(about, "signals")


TASKS: dict[str, Task] = {
    "CartPole-v1": Task("balance a pole on a cart: push left or right; at most 500"),
    "policy_inertia/LaneChange-v0": _highway(
        "lane_change", "drive fast on a highway with four lanes", preset="paper-test"
    ),
    "policy_inertia/Merge-v0": _highway("merge", "let a car on the ramp merge"),
    "policy_inertia/Intersection-v0": _highway(
        "intersection", "turn left at a crossing without lights"
    ),
    "policy_inertia/TwoWay-v0": _highway("two_way", "overtake against oncoming traffic"),
    "policy_inertia/MsPacman-v0": _atari("Atari: eat the dots, keep clear of the ghosts"),
    "policy_inertia/SpaceInvaders-v0": _atari("Atari: shoot the invaders before they land"),
    "policy_inertia/Qbert-v0": _atari("Atari: hop on every cube of the pyramid"),
    "policy_inertia/JamesBond-v0": _atari("Atari: drive, dive and shoot past what comes"),
    "policy_inertia/MinAtar-Asterix-v0": _minatar("MinAtar: collect gold, keep clear of enemies"),
    "policy_inertia/MinAtar-Breakout-v0": _minatar("MinAtar: break the bricks with a ball"),
    "policy_inertia/MinAtar-Freeway-v0": _minatar("MinAtar: cross eight lanes of traffic"),
    "policy_inertia/MinAtar-Seaquest-v0": _minatar("MinAtar: rescue divers, shoot, and surface"),
    "policy_inertia/MinAtar-SpaceInvaders-v0": _minatar("MinAtar: shoot the aliens"),
    "policy_inertia/Signals-v0": _signals("name seven noisy levels: an action with seven heads"),
    "policy_inertia/MaskedSignal-v0": _signals("name a noisy level: some actions are forbidden"),
    "policy_inertia/HiddenSignal-v0": _signals("name a level in much noise: who remembers knows"),
}


def task_of(env: str) -> Task:
    """What is known of an env; every other game of Atari is evaluated by its score too."""
    if env not in TASKS and env.startswith(("policy_inertia/", "ALE/")):
        return _atari("Atari, from pixels")
    return TASKS.get(env, Task(""))


def env_id(name: str) -> str:
    """Return the Gymnasium id of one of our envs."""
    return f"policy_inertia/{name}-v0"


def highway_modules() -> dict[str, str]:
    """Return the module of each Highway task, by the task's name."""
    return {
        env.removeprefix("policy_inertia/").removesuffix("-v0"): task.highway_module
        for env, task in TASKS.items()
        if task.highway_module
    }
