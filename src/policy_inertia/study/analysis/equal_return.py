"""How calm a policy can be at the return of another: the least movement that costs next to nothing.

The unit of every loss is what the reference gains over random actions, the mean over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.measures import FLUCTUATION, RETURN
from policy_inertia.study.analysis.at_budget import Actions, AtBudget
from policy_inertia.study.analysis.statistics import Estimate, mean_and_t_interval

NO_BUDGET = 1.0
"""The budget of policies as they are."""
LARGEST_LOSS = 0.05
"""The upper 95% bound of the loss that still counts as an equal return."""


@dataclass(frozen=True)
class Calmest:
    """A policy at the smallest budget at which its return equals that of the reference.

    Attributes:
        task: The task.
        name: The policy.
        dial: Whether one run gives the policy at every budget.
        budget: The budget; None if it loses too much at all of them.
        loss: The lost return as a share of what the reference gains over random actions.
        fluctuation: The measured movement.
    """

    task: str
    name: str
    dial: bool
    budget: float | None = None
    loss: Estimate | None = None
    fluctuation: Estimate | None = None


def calmest(
    rows: Sequence[AtBudget], reference: str, random: str, actions: Actions = "greedy"
) -> list[Calmest]:
    """Return every policy of every task at the smallest budget that costs it nothing.

    Args:
        rows: Policies at their budgets; those at `NO_BUDGET` are the policies as they are.
        reference: Name of the policy whose return is to be equalled.
        random: Name of the row of random actions.
        actions: Which of the rows to compare.
    """
    here = [row for row in rows if row.actions == actions]
    rows_of_tasks = []
    for task in dict.fromkeys(row.task for row in here):
        own = [row for row in here if row.task == task]
        plain = {row.name: _returns(row) for row in own if row.budget == NO_BUDGET}
        if reference not in plain or random not in plain:
            continue
        gain = float(np.mean([*plain[reference].values()]) - np.mean([*plain[random].values()]))
        names = dict.fromkeys(row.name for row in own if row.name != random)
        for name in names if gain > 0 else ():
            policies = sorted((r for r in own if r.name == name), key=lambda row: row.budget)
            rows_of_tasks.append(_calmest(policies, plain[reference], gain))
    return rows_of_tasks


def _calmest(policies: Sequence[AtBudget], reference: dict[int, float], gain: float) -> Calmest:
    for row in policies:
        returns = _returns(row)
        if not returns or returns.keys() != reference.keys():
            continue  # a seed cannot keep the budget
        losses = [(reference[seed] - returns[seed]) / gain for seed in reference]
        if upper_bound(losses) < LARGEST_LOSS:
            return Calmest(
                row.task,
                row.name,
                row.dial,
                row.budget,
                mean_and_t_interval(losses),
                row.estimate(FLUCTUATION.name),
            )
    return Calmest(policies[0].task, policies[0].name, policies[0].dial)


def _returns(row: AtBudget) -> dict[int, float]:
    return {seed: record.figures[RETURN.name] for seed, record in row.records.items()}
