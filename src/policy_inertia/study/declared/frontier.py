"""The cost of smoothness: return and crash rate of every method at the same oscillation.

The lines of `study limit` are rows here too, and their runs are read from its records. The rivals
beside them have the same steps, updates, network and learning rate: SAC, NSAC in both ways,
TempoRL, and a Lagrangian DQN with one run for each budget. A dial keeps a budget by its price,
every other policy by hysteresis; TempoRL, which holds its actions by itself, has no setting and is
taken as it is. Settings are chosen on separate episodes. `analysis.at_budget` compares the results.
"""

from __future__ import annotations

from typing import Any

from policy_inertia.study.declared.limit import (
    BUDGETS,
    INTERSECTION,
    LANE_CHANGE,
    core_of,
    learner_of,
    lines_of,
)
from policy_inertia.study.declared.limit import STUDY as LIMIT
from policy_inertia.study.declared.paper import CLOSED_FORM, HIGHWAY, SIMPLE
from policy_inertia.study.plan import Experiment, Line, Study, Task

MERGE = HIGHWAY["Merge"]
LAGRANGIAN = (MERGE, SIMPLE)  # one run a budget costs four runs a seed, so on two tasks only


def _rivals(task: Task) -> tuple[Line, ...]:
    """Return the lines that only this study has; their learner is that of `study limit`."""
    learner, core = learner_of(task), core_of(task)
    nested: dict[str, Any] = {
        **learner,
        "pic_learning_rate": learner["learning_rate"],
        "core": learner,
    }
    return (
        Line("SAC", "sac", task, learner),
        Line("NSAC", "nsac", task, nested),
        Line("NSAC, closed form", "nsac", task, {**nested, **CLOSED_FORM}),
        Line("TempoRL", "temporl", task, core),
    )


def _lagrangians(task: Task) -> tuple[Line, ...]:
    """Return a run for each budget; calibration chooses among them, as among sizes of a penalty."""
    nested = {**learner_of(task), "core": core_of(task)}
    return tuple(
        Line(f"Lagrangian DQN {b:g}", "lagrangian-dqn", task, {**nested, "budget": b})
        for b in BUDGETS
    )


STUDY = Study(
    "frontier",
    "Return and crash rate at the same oscillation",
    tuple(
        Experiment(
            task.name.lower().replace(" ", "-").replace(",", ""),
            task.name,
            (
                *lines_of(task),
                *_rivals(task),
                *(_lagrangians(task) if task in LAGRANGIAN else ()),
            ),
            budgets=BUDGETS,
            limits=BUDGETS,
        )
        for task in (LANE_CHANGE, MERGE, INTERSECTION, SIMPLE)
    ),
    seeds=LIMIT.seeds,
    settings=LIMIT.settings,
    about="Greedy actions. Two-Way is the simple one.",
    shared=(LIMIT.name,),
    limits_by=LIMIT.limits_by,  # the same rule for the rows that are read and those that are run
)
