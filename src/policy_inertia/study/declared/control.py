"""Continuous actions at the same movement: the dial, the inertia and their rivals.

Every line has the same learner, network, steps and updates; a policy that holds its actions has
fewer decisions, and so fewer updates. Every policy is held to budgets of movement: a dial by its
price, every other policy by its best filter, or its best hard limit where it remembers. All are
calibrated on separate episodes. A budget of 1 is no budget. The weights of ASAP are its authors'
for each task with SAC, and those of Two-Way are Hopper's. Nothing else was tuned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from policy_inertia.study.plan import Experiment, Line, Study, Task

LEARNER: dict[str, Any] = {"hidden": (64, 64), "learning_rate": 7e-4}
CONTROLLER: dict[str, Any] = {**LEARNER, "core": LEARNER}
PENALTIES = (0.1, 1.0, 10.0)
"""Sizes of the penalty, in units of the task's reward."""
HOLDS = (2, 4)


class Control(NamedTuple):
    """A task, its budgets, and what rivals need to know of it."""

    task: Task
    budgets: tuple[float, ...]
    """Action fluctuations. SAC of the study of filters had 0.009 on Pendulum, 0.004 on Reacher,
    0.1 on LunarLander and 0.15 on Hopper; Two-Way's are a guess."""
    reward: float
    """The unit of penalties: about the size of a step's reward."""
    asap: float
    """ASAP's lambda_S."""


def _task(name: str, env: str, steps: int, **settings: Any) -> Task:
    return Task(name, env, {"steps": steps, "eval_every": steps // 5, **settings})


STEERED = {"scenario": "simple", "action": {"type": "ContinuousAction"}, "policy_frequency": 5}
LONG: dict[str, Any] = {"final_episodes": 20, "calibration_episodes": 8, "eval_episodes": 5}
"""Of tasks whose episodes have up to 1,000 steps."""
TASKS = (
    Control(
        _task("Pendulum", "Pendulum-v1", 50_000),
        (1.0, 0.006, 0.004, 0.0025, 0.0015, 0.001),
        reward=1.0,
        asap=5.0,
    ),
    Control(
        _task("Reacher", "Reacher-v5", 200_000),
        (1.0, 0.003, 0.002, 0.0013, 0.0008, 0.0005),
        reward=0.1,
        asap=5.0,
    ),
    Control(
        _task(
            "Two-Way, steered",
            "policy_inertia/TwoWay-v0",
            200_000,
            env_kwargs={"config": STEERED},
        ),
        (1.0, 0.05, 0.03, 0.02, 0.012, 0.008),
        reward=1.0,
        asap=10.0,
    ),
    Control(
        _task("LunarLander", "LunarLanderContinuous-v3", 300_000, **LONG),
        (1.0, 0.1, 0.06, 0.04, 0.025, 0.015),
        reward=1.0,
        asap=10.0,
    ),
    Control(
        _task("Hopper", "Hopper-v5", 300_000, **LONG),
        (1.0, 0.15, 0.1, 0.06, 0.04, 0.025),
        reward=1.0,
        asap=10.0,
    ),
)


def _lines(control: Control) -> tuple[Line, ...]:
    task = control.task
    sizes = [size * control.reward for size in PENALTIES]
    return (
        Line("SAC", "sac", task, LEARNER),
        *(Line(f"penalty {x:g}", "sac-ip", task, {**LEARNER, "penalty": x}) for x in sizes),
        Line("CAPS", "sac-caps", task, LEARNER),
        Line("ASAP", "sac-asap", task, {**LEARNER, "asap_spatial": control.asap}),
        *(Line(f"hold {k}", "sac-repeat", task, {**LEARNER, "repeats": (k,)}) for k in HOLDS),
        Line("inertia", "nsac", task, {**CONTROLLER, "pic_learning_rate": 7e-4}),
        Line("dial", "dial-sac", task, CONTROLLER),
        Line("dial, squared", "dial-sac-squared", task, CONTROLLER),
    )


STUDY = Study(
    "control",
    "Continuous actions at the same movement",
    tuple(
        Experiment(
            control.task.name.lower().replace(" ", "-").replace(",", ""),
            control.task.name,
            _lines(control),
            budgets=control.budgets,
        )
        for control in TASKS
    ),
    seeds=(100, 101, 102, 103, 104),  # all settings were chosen on seeds below 100
    settings={
        "batch_size": 128,
        "buffer_size": 300_000,
        "eval_episodes": 10,
        "final_episodes": 50,
        "calibration_episodes": 20,
    },
    about="Greedy actions. A budget is an action fluctuation; 1 is no budget.",
)
