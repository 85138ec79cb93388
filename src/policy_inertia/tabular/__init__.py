"""The paper's theory on finite MDPs: exact values, nested policy iteration, theorems as checks."""

from policy_inertia.tabular.cases import Case, random_case
from policy_inertia.tabular.checks import CHECKS, Check, CheckResult, median_bounds, run_checks
from policy_inertia.tabular.curve import Curve
from policy_inertia.tabular.exact_bucket import TokenBucket
from policy_inertia.tabular.examples import EXAMPLES, chain, garnet, overtaking, windy_line
from policy_inertia.tabular.intermediate_policy import (
    IntermediateImprovement,
    intermediate_improvement,
)
from policy_inertia.tabular.iteration import (
    HalfStep,
    Improvement,
    greedy,
    nested_policy_iteration,
    soft,
)
from policy_inertia.tabular.limit_survey import LimitSurvey, run_limit_survey
from policy_inertia.tabular.limits import (
    LimitedPolicy,
    chance_of_break,
    evaluate_limited,
    filtered,
    price_curve,
    solve_limit,
)
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.rules import Smoothed, smoothing_rule
from policy_inertia.tabular.survey import Survey, run_survey
from policy_inertia.tabular.tradeoff import Point, best_mu, tradeoff
from policy_inertia.tabular.values import (
    core_as_mixed,
    core_values,
    expected_return,
    mixed_policy,
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
    "CheckResult",
    "Curve",
    "HalfStep",
    "Improvement",
    "IntermediateImprovement",
    "LimitSurvey",
    "LimitedPolicy",
    "Point",
    "Smoothed",
    "Survey",
    "TokenBucket",
    "best_mu",
    "chain",
    "chance_of_break",
    "core_as_mixed",
    "core_values",
    "evaluate_limited",
    "expected_return",
    "filtered",
    "garnet",
    "greedy",
    "intermediate_improvement",
    "median_bounds",
    "mixed_policy",
    "mixed_values",
    "nested_policy_iteration",
    "oscillation_ratio",
    "overtaking",
    "price_curve",
    "random_case",
    "run_checks",
    "run_limit_survey",
    "run_survey",
    "smoothing_rule",
    "soft",
    "solve_limit",
    "switch_rate",
    "tradeoff",
    "windy_line",
]
