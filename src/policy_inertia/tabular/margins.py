"""Each statement of the paper as a margin: a number that is below 0 where the statement fails.

The functions here take the settings of a statement and return its margin: a function from a case to
a number, or to None if the statement says nothing about the case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from policy_inertia.tabular.cases import Case
from policy_inertia.tabular.intermediate_policy import (
    IntermediateImprovement,
    intermediate_improvement,
    intermediate_policy,
)
from policy_inertia.tabular.iteration import (
    HalfStep,
    Improvement,
    greedy,
    nested_policy_iteration,
    whole_rounds,
)
from policy_inertia.tabular.rules import compare, smoothing_rule
from policy_inertia.tabular.tradeoff import LinearProgram
from policy_inertia.tabular.values import (
    core_values,
    expected_return,
    mixed_policy,
    mixed_values,
)

Margin = Callable[[Case], float | None]

_ROUNDS = 20  # of nested policy iteration, when each round counts


# Theorem 3.1 (smoothness)


def rule_return(criterion: str) -> Margin:
    """J(pi) - J(pi_core) of the smoothing rule."""
    return lambda case: smoothing_rule(case.mdp, case.core, criterion).return_margin


def rule_oscillation(criterion: str) -> Margin:
    """xi(pi_core) - xi(pi) of the smoothing rule."""
    return lambda case: smoothing_rule(case.mdp, case.core, criterion).oscillation_margin


def optimal_core(case: Case) -> float:
    """Minus the largest mu that the smoothing rule sets around an optimal core."""
    core = converged_core(case, greedy())
    return -float(smoothing_rule(case.mdp, core).mu.max())


def first_mu_throughout(case: Case) -> float:
    """The smaller margin of the rule if its mu of the first time is used at all times."""
    smoothed = compare(case.mdp, case.core, smoothing_rule(case.mdp, case.core).mu[0])
    return min(smoothed.return_margin, smoothed.oscillation_margin)


def rule_near_best(gap: float) -> Margin:
    """`gap` minus the return that the rule loses against the best mu around the core."""

    def margin(case: Case) -> float:
        best = LinearProgram(case.mdp, case.core).solve().return_
        return gap - (best - smoothing_rule(case.mdp, case.core).return_)

    return margin


# Lemma 3.1 (intermidiate_policy_improvement)


def improved_core(case: Case, half: Improvement) -> np.ndarray:
    """The core after one inner improvement."""
    return half.core(core_values(case.mdp, case.core, half.temperature))


def within_bound(case: Case, half: Improvement, n: float = 4.0, signed: bool = False) -> Case:
    """The case with `mu` scaled down until it meets the lemma's condition, by bisection.

    The condition is implicit, because C_0 depends on `mu` as well.
    """
    new_core = improved_core(case, half)

    def fits(scale: float) -> bool:
        return intermediate_improvement(
            case.mdp, case.core, new_core, case.mu * scale, half.temperature, n, signed
        ).within

    if fits(1.0):
        return case
    low, high = -12.0, 0.0  # powers of ten
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(10**middle) else (low, middle)
    return replace(case, mu=case.mu * 10**low)


def improvement_at_bound(
    case: Case, half: Improvement, n: float = 4.0, signed: bool = False
) -> IntermediateImprovement:
    """Both sides of Lemma 3.1 with `mu` at the lemma's bound."""
    case = within_bound(case, half, n, signed)
    new_core = improved_core(case, half)
    return intermediate_improvement(
        case.mdp, case.core, new_core, case.mu, half.temperature, n, signed
    )


def lemma(half: Improvement, n: float = 4.0, signed: bool = False) -> Margin:
    """min (Q_mid - Q_old) minus the lemma's guarantee, with mu at the lemma's bound."""

    def margin(case: Case) -> float | None:
        result = improvement_at_bound(case, half, n, signed)
        return result.actual - result.guaranteed if result.within and result.bound > 0 else None

    return margin


def any_mu(half: Improvement, sharper: bool) -> Margin:
    """min (Q_mid - Q_old) with the case's own mu, minus 0 or minus our `sharper` guarantee."""

    def margin(case: Case) -> float | None:
        new_core = improved_core(case, half)
        result = intermediate_improvement(case.mdp, case.core, new_core, case.mu, half.temperature)
        return result.actual - (result.sharper if sharper else 0.0)

    return margin


# Lemma 3.2 (nested_policy_improvement) and Theorem 3.2 (NPI)


def outer_step(half: Improvement) -> Margin:
    """min (Q_new - Q_mid) of one outer improvement."""

    def margin(case: Case) -> float:
        core = improved_core(case, half)
        q_mid = mixed_values(case.mdp, intermediate_policy(core, case.mu), half.temperature)
        mu = half.inertia(q_mid, core)
        q_new = mixed_values(case.mdp, mixed_policy(core, mu), half.temperature)
        return float((q_new - q_mid).min())

    return margin


def round_within_bound(half: Improvement) -> Margin:
    """min (Q_new - Q_old) of one round that starts with mu at the lemma's bound."""

    def margin(case: Case) -> float | None:
        if not improvement_at_bound(case, half).within:
            return None
        return iteration(half, half, rounds=1)(within_bound(case, half))

    return margin


def smallest_q_change(steps: list[HalfStep]) -> float:
    """The smallest change of any Q(s, a_prev, a) over a round of nested policy iteration."""
    return min(float((b.q - a.q).min()) for a, b in pairwise(whole_rounds(steps)))


def smallest_objective_change(steps: list[HalfStep]) -> float:
    """The smallest change of the mixed policy's objective over a round."""
    return min(b.objective - a.objective for a, b in pairwise(whole_rounds(steps)))


def iteration(inner: Improvement, outer: Improvement, rounds: int = _ROUNDS) -> Margin:
    """The smallest change of any Q over a round of nested policy iteration."""
    return lambda case: smallest_q_change(
        nested_policy_iteration(case.mdp, inner, outer, case.core, case.mu, rounds)
    )


def iteration_objective(inner: Improvement, outer: Improvement) -> Margin:
    """The smallest change of the objective over a round of nested policy iteration."""
    return lambda case: smallest_objective_change(
        nested_policy_iteration(case.mdp, inner, outer, case.core, case.mu, _ROUNDS)
    )


def iteration_near_best(inner: Improvement, outer: Improvement, gap: float) -> Margin:
    """`gap` minus the return that nested iteration loses against the best mu around its core."""

    def margin(case: Case) -> float:
        last = nested_policy_iteration(case.mdp, inner, outer, case.core, case.mu)[-1]
        best = LinearProgram(case.mdp, last.core).solve().return_
        return gap - (best - expected_return(case.mdp, mixed_policy(last.core, last.mu)))

    return margin


def iteration_from_converged_core(half: Improvement) -> Margin:
    """The smallest change of any Q over a round that starts from a converged core."""
    margin = iteration(half, half)
    return lambda case: margin(replace(case, core=converged_core(case, half)))


def converged_core(case: Case, half: Improvement) -> np.ndarray:
    """The core after inner improvements until its values no longer change."""
    core = case.core
    q = core_values(case.mdp, core, half.temperature)
    for _ in range(1_000):
        core = half.core(q)
        before, q = q, core_values(case.mdp, core, half.temperature)
        if abs(q - before).max() < 1e-13:
            break
    return core


def idle_limit(half: Improvement) -> Margin:
    """Minus the distance between the last Q of nested policy iteration and its core's Q."""

    def margin(case: Case) -> float:
        last = nested_policy_iteration(case.mdp, half, half, case.core, case.mu, rounds=500)[-1]
        return -float(abs(last.q - last.q_core[..., None, :]).max())

    return margin
