"""The exact theory: MDPs as arrays, nested policy iteration, and the paper's theorems as checks."""

from policy_inertia.tabular.checks import (
    CHECKS,
    Case,
    Check,
    Finding,
    median_bounds,
    random_case,
    run_checks,
)
from policy_inertia.tabular.examples import EXAMPLES, chain, garnet, overtaking, windy_line
from policy_inertia.tabular.intermediate import Intermediate, intermediate
from policy_inertia.tabular.iteration import (
    HalfStep,
    Improvement,
    greedy,
    nested_policy_iteration,
    soft,
)
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.rules import Smoothed, smoother
from policy_inertia.tabular.tradeoff import Curve, Point, best, tradeoff
from policy_inertia.tabular.values import (
    alone,
    core_values,
    expected_return,
    mixed,
    mixed_values,
    oscillation_ratio,
    switch_rate,
)

__all__ = [
    "CHECKS",
    "EXAMPLES",
    "MDP",
    "Case",
    "Check",
    "Curve",
    "Finding",
    "HalfStep",
    "Improvement",
    "Intermediate",
    "Point",
    "Smoothed",
    "alone",
    "best",
    "chain",
    "core_values",
    "expected_return",
    "garnet",
    "greedy",
    "intermediate",
    "median_bounds",
    "mixed",
    "mixed_values",
    "nested_policy_iteration",
    "oscillation_ratio",
    "overtaking",
    "random_case",
    "run_checks",
    "smoother",
    "soft",
    "switch_rate",
    "tradeoff",
    "windy_line",
]
