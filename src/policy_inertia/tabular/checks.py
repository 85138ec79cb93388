"""The paper's statements as a table of checks, and how to run them over many random cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from policy_inertia.tabular.cases import random_cases
from policy_inertia.tabular.intermediate_policy import intermediate_improvement
from policy_inertia.tabular.iteration import greedy, soft
from policy_inertia.tabular.margins import (
    Margin,
    any_mu,
    first_mu_throughout,
    idle_limit,
    improved_core,
    iteration,
    iteration_from_converged_core,
    iteration_near_best,
    iteration_objective,
    lemma,
    optimal_core,
    outer_step,
    round_within_bound,
    rule_near_best,
    rule_oscillation,
    rule_return,
)

TOLERANCE = 1e-9  # a violation smaller than this is rounding


@dataclass(frozen=True)
class Check:
    """One statement, the kind of MDP it is tried on, and its margin."""

    statement: str
    kind: str
    margin: Margin
    proved: bool = True
    """Whether we trust a proof of the statement, so that it must hold in every case."""


_GREEDY = greedy()
_SOFT = soft(0.1)
_COOLER = soft(0.01)

CHECKS = (
    Check("Theorem 3.1's rule: return", "one length", rule_return("repeats")),
    Check("Theorem 3.1's rule: xi", "one length", rule_oscillation("repeats")),
    Check("Theorem 3.1's rule: switch rate", "discounted", rule_oscillation("repeats")),
    Check("Theorem 3.1's rule: return", "any length", rule_return("repeats")),
    Check("Theorem 3.1's rule: xi", "any length", rule_oscillation("repeats"), False),
    Check("  counting switches: xi", "any length", rule_oscillation("switches"), False),
    Check("  weighing by length (ours): xi", "any length", rule_oscillation("ratio")),
    Check("  V_o(s) as V_o(s, null): xi", "one length", rule_oscillation("state-only"), False),
    Check("  one mu for all times: both", "one length", first_mu_throughout, False),
    Check("  mu = 0 around an optimal core", "discounted", optimal_core),
    Check("  within 0.001 of the best return", "discounted", rule_near_best(1e-3), False),
    Check("Lemma 3.1, N = 4, greedy", "discounted", lemma(_GREEDY)),
    Check("Lemma 3.1, N = 8, greedy", "discounted", lemma(_GREEDY, 8)),
    Check("Lemma 3.1, N = 8, soft", "discounted", lemma(_SOFT, 8), False),
    Check("  mu beyond the bound, greedy", "discounted", any_mu(_GREEDY, False), False),
    Check("  sharper bound (ours), greedy", "discounted", any_mu(_GREEDY, True)),
    Check("  sharper bound (ours), soft", "discounted", any_mu(_SOFT, True)),
    Check("Lemma 3.2, the outer half, greedy", "discounted", outer_step(_GREEDY)),
    Check("Lemma 3.2, the outer half, soft", "discounted", outer_step(_SOFT)),
    Check("Lemma 3.2, mu within the bound", "discounted", round_within_bound(_GREEDY)),
    Check("Theorem 3.2, greedy: every Q", "discounted", iteration(_GREEDY, _GREEDY), False),
    Check("  objective, greedy", "discounted", iteration_objective(_GREEDY, _GREEDY), False),
    Check("Theorem 3.2, soft: every Q", "discounted", iteration(_SOFT, _SOFT), False),
    Check("  objective, soft", "discounted", iteration_objective(_SOFT, _SOFT), False),
    Check("Theorem 3.2, cooler outer: every Q", "discounted", iteration(_SOFT, _COOLER), False),
    Check("  objective, cooler outer", "discounted", iteration_objective(_SOFT, _COOLER), False),
    Check("  within 0.001 of the best return", "discounted",
          iteration_near_best(_SOFT, _COOLER, 1e-3), False),
    Check("  from a converged core, greedy", "discounted", iteration_from_converged_core(_GREEDY)),
    Check("  from a converged core, soft", "discounted", iteration_from_converged_core(_SOFT)),
    Check("  mu is idle in the end, greedy", "discounted", idle_limit(_GREEDY)),
    Check("  mu is idle in the end, soft", "discounted", idle_limit(_SOFT)),
)  # fmt: skip


@dataclass(frozen=True)
class CheckResult:
    """The margins of one check over many cases."""

    check: Check
    cases: int
    silent: int
    """Cases that the statement says nothing about."""
    failed: int
    smallest_margin: float
    """Smallest margin among the cases where the statement holds; NaN if there are none."""
    largest_violation: float
    """0 if the statement holds in all cases."""


def run_checks(
    cases: int,
    seed: int = 0,
    checks: Iterable[Check] = CHECKS,
    states: int = 4,
    actions: int = 3,
    gamma: float = 0.9,
) -> Iterator[CheckResult]:
    """Run every check over `cases` random cases, the same cases for all checks of a kind."""
    for check in checks:
        drawn = random_cases(cases, seed, check.kind, states, actions, gamma)
        margins = [check.margin(case) for case in drawn]
        known = np.array([m for m in margins if m is not None])
        holds = known[known >= -TOLERANCE]
        yield CheckResult(
            check,
            cases,
            cases - len(known),
            len(known) - len(holds),
            float(holds.min()) if len(holds) else float("nan"),
            float(max(0.0, -known.min())) if len(known) > len(holds) else 0.0,
        )


def median_bounds(
    cases: int, seed: int = 0, states: int = 4, actions: int = 3, gamma: float = 0.9
) -> tuple[float, float]:
    """Median of the largest mu that Lemma 3.1 allows for a greedy improvement, and that ours does.

    C_0 is computed for mu = 0, where the paper's bound is largest.
    """
    results = [
        intermediate_improvement(
            case.mdp, case.core, improved_core(case, _GREEDY), np.zeros_like(case.mu)
        )
        for case in random_cases(cases, seed, "discounted", states, actions, gamma)
    ]
    paper, ours = ([getattr(r, name) for r in results] for name in ("bound", "sharper_bound"))
    return float(np.median(paper)), float(np.median(ours))
