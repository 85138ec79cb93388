"""Nested policy iteration on one MDP, compared with the best that any mu reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from policy_inertia.tabular.curve import Curve
from policy_inertia.tabular.iteration import HalfStep, nested_policy_iteration, soft
from policy_inertia.tabular.margins import smallest_q_change
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.rules import smoothing_rule
from policy_inertia.tabular.tradeoff import Point, tradeoff
from policy_inertia.tabular.values import core_as_mixed, expected_return, mixed_policy, switch_rate

CORE_TEMPERATURE, MIXED_TEMPERATURE = 0.1, 0.01  # the paper's, for Highway


class Performance(NamedTuple):
    """Switch rate and return of one policy."""

    switch_rate: float
    return_: float


@dataclass(frozen=True)
class ExampleResult:
    """Policies and the trade-off curve around the core that nested policy iteration ends with."""

    mdp: MDP
    steps: list[HalfStep]
    core: Performance
    nested: Performance
    rule: Performance
    curve: Curve[Point]

    @property
    def smallest_change(self) -> float:
        """The smallest change of any Q over a round; below 0 where Theorem 3.2 fails."""
        return smallest_q_change(self.steps)

    def least_rate(self, policy: Performance) -> float:
        """The smallest switch rate of any mu with at least the return of this policy."""
        top = self.curve.vertices[-1].return_
        return self.curve.least_rate(min(policy.return_, top))


def solve_example(mdp: MDP, max_vertices: int = 60) -> ExampleResult:
    """Run nested policy iteration, then compute the rule and the curve around its last core."""
    steps = nested_policy_iteration(mdp, soft(CORE_TEMPERATURE), soft(MIXED_TEMPERATURE))
    core, mu = steps[-1].core, steps[-1].mu
    return ExampleResult(
        mdp,
        steps,
        core=_performance(mdp, core_as_mixed(core)),
        nested=_performance(mdp, mixed_policy(core, mu)),
        rule=_performance(mdp, smoothing_rule(mdp, core).policy),
        curve=tradeoff(mdp, core, max_vertices),
    )


def _performance(mdp: MDP, pi: np.ndarray) -> Performance:
    return Performance(switch_rate(mdp, pi), expected_return(mdp, pi))
