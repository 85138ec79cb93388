"""Limits on switching that are always kept, and their rivals, at the same measured oscillation.

Every policy is held to limits: the policy as it is inside a bucket of tokens, with the best
threshold or price inside the bucket, and methods that plan with the limit. For each budget, the
limit with the best return on separate episodes is chosen. All lines have the same learner, steps,
updates and network. The planner is no line of the study: `policy-inertia planner --limit 0.1
--burst 2` plans episodes within one limit, and knows the future.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policy_inertia.study.declared.paper import HIGHWAY, SIMPLE
from policy_inertia.study.plan import Experiment, Line, Study, Task

BUDGETS = (0.05, 0.1, 0.15, 0.2)
# Episodes last 12 to 50 steps, and their return is reported. The paper's 0.99 plans for about 100.
HORIZON = 0.95
LEARNER: dict[str, Any] = {"hidden": (64, 64), "train_interval": 1, "huber": 5.0}
"""The learner of all lines: of the critics of a controller, and of a DQN alone."""
DQN: dict[str, Any] = {
    "epsilon_decay": 1e-4,
    "epsilon_final": 0.05,
    "target_period": 500,
    "scaled": True,  # as the critics of the controllers are
}
# An episode with 45 vehicles takes as long as several episodes of the other tasks.
LANE_CHANGE = replace(
    HIGHWAY["Lane Change"], settings={"final_episodes": 50, "calibration_episodes": 25}
)
INTERSECTION = replace(  # its vehicles take as long to simulate as those of Lane Change
    HIGHWAY["Intersection"], settings={"final_episodes": 100, "calibration_episodes": 25}
)
CARTPOLE = Task(
    "CartPole", "CartPole-v1", {"gamma": 0.98, "steps": 200_000, "calibration_episodes": 25}
)
GATED = (SIMPLE, CARTPOLE)  # where the gate is a rival too
# Chosen with single runs of seed 1, when critics had no scale of their own: on CartPole, critics
# that learn as fast as on Highway forgot how to balance.
LEARNING_RATES = {"CartPole": 3e-4}
TARGET_RATES = {"CartPole": 0.005}


def learner_of(task: Task) -> dict[str, Any]:
    """Return the settings of the critics of a controller: of everyone, but for a DQN alone."""
    rate, target_rate = LEARNING_RATES.get(task.name, 1e-3), TARGET_RATES.get(task.name, 0.01)
    return {**LEARNER, "learning_rate": rate, "target_rate": target_rate}


def core_of(task: Task) -> dict[str, Any]:
    """Return the settings of a DQN, alone or as a core."""
    return {**LEARNER, "learning_rate": LEARNING_RATES.get(task.name, 1e-3), **DQN}


def lines_of(task: Task) -> tuple[Line, ...]:
    """Return the lines of the study on one task."""
    core = core_of(task)
    nested = {**learner_of(task), "core": core}
    lines = compared(task, core, nested)
    # LICRA's idea: a second policy decides when to act, a first one what to do
    gate = Line("limit, gate", "limit-gate-dqn", task, nested)
    return (*lines, gate) if task in GATED else lines


def compared(task: Task, core: dict[str, Any], nested: dict[str, Any]) -> tuple[Line, ...]:
    """Return the lines that every task has.

    Args:
        task: The task.
        core: The settings of a DQN.
        nested: The settings of a controller around it.
    """
    return (
        Line("DQN", "dqn", task, core),
        # the learner of the next lines without a price and without a limit
        Line("twin critics", "dial-dqn", task, {**nested, "price": 0.0}),
        Line("dial by price", "dial-dqn", task, nested),
        Line("limit", "limit-dqn", task, nested),
    )


STUDY = Study(
    "limit",
    "Limits on switching that are always kept",
    tuple(
        Experiment(
            task.name.lower().replace(" ", "-").replace(",", ""),
            task.name,
            lines_of(task),
            budgets=BUDGETS,
            limits=BUDGETS,
        )
        for task in (LANE_CHANGE, HIGHWAY["Merge"], INTERSECTION, SIMPLE, CARTPOLE)
    ),
    # seed 100 was looked at when hysteresis came into the limits, so it is not reported
    seeds=(105, 106, 107, 108, 109),
    settings={
        "preset": "paper",
        "steps": 400_000,
        "envs": 16,
        "gamma": HORIZON,
        "eval_every": 100_000,
        "final_episodes": 200,
    },
    about="Greedy actions. Rows in a bucket never exceed the limit that was chosen for them.",
    limits_by="mean",  # the rule when the first runs of this study were evaluated
)
