"""The paper's statements as checks: each gives the margin by which it holds in one case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.tabular.examples import garnet
from policy_inertia.tabular.intermediate import Intermediate, intermediate, mid_policy
from policy_inertia.tabular.iteration import (
    Improvement,
    full_steps,
    greedy,
    nested_policy_iteration,
    soft,
)
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.rules import compare, smoother
from policy_inertia.tabular.values import core_values, mixed, mixed_values

TEMPERATURE = 0.1
TOLERANCE = 1e-9  # a margin above minus this is rounding


@dataclass(frozen=True)
class Case:
    """What a statement is about: an MDP, a core and a `mu`, the latter two stationary."""

    mdp: MDP
    core: np.ndarray
    mu: np.ndarray


@dataclass(frozen=True)
class Check:
    """A statement, the kind of MDP it is tried on, and the margin: below 0 where it fails.

    `margin` gives None in a case that the statement says nothing about.
    """

    about: str
    kind: str
    margin: Callable[[Case], float | None]
    promised: bool = True
    """Whether it must hold (there is a proof that we trust), or fails somewhere."""


@dataclass(frozen=True)
class Kind:
    """How cases of a kind are drawn: the horizon (0: discounted), the largest chance of an end."""

    horizon: int = 0
    ending: float = 0.0


KINDS = {
    "discounted": Kind(),
    "one length": Kind(horizon=6),
    "any length": Kind(horizon=6, ending=0.6),
}


def random_case(
    seed: int | np.random.Generator,
    kind: str = "discounted",
    states: int = 4,
    actions: int = 3,
    gamma: float = 0.9,
) -> Case:
    """A Garnet with a random core and a random mu; now and then sparse, deterministic, peaked."""
    rng = np.random.default_rng(seed)
    row = KINDS[kind]
    branching, peaked, sparse = rng.integers(1, 4), rng.random() < 0.5, rng.random() < 0.5
    mdp = garnet(rng, states, actions, int(branching), gamma, row.horizon or None, row.ending)
    if sparse:
        mdp = replace(mdp, R=mdp.R * (rng.random(mdp.R.shape) < 0.3))
    core = rng.dirichlet(np.full(actions, 0.1 if peaked else 1.0), states)
    return Case(mdp, core, rng.random((states, actions)))


# Theorem (smoothness)


def _rule(measure: str, side: str) -> Callable[[Case], float]:
    def margin(case: Case) -> float:
        return float(getattr(smoother(case.mdp, case.core, measure), f"{side}_margin"))

    return margin


def _optimal_core(case: Case) -> float:
    """Minus the largest mu that the rule finds around an optimal core."""
    core = _settle(case, greedy())
    return -float(smoother(case.mdp, core).mu.max())


def _timeless(case: Case) -> float:
    """The smaller margin of the rule's mu for the first moment of an episode, kept throughout."""
    found = compare(case.mdp, case.core, smoother(case.mdp, case.core).mu[0])
    return min(found.return_margin, found.oscillation_margin)


# Lemma (intermidiate_policy_improvement)


def improved(case: Case, half: Improvement) -> np.ndarray:
    """The core after one inner improvement."""
    return half.core(core_values(case.mdp, case.core, half.temperature))


def within_bound(case: Case, half: Improvement, n: float = 4.0, signed: bool = False) -> Case:
    """The case with `mu` scaled down as far as the lemma's condition needs, by bisection.

    The condition is implicit: C_0 depends on `mu` as well.
    """
    new = improved(case, half)

    def fits(share: float) -> bool:
        found = intermediate(case.mdp, case.core, new, case.mu * share, half.temperature, n, signed)
        return found.within

    if fits(1.0):
        return case
    low, high = -12.0, 0.0  # powers of ten
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(10**middle) else (low, middle)
    return replace(case, mu=case.mu * 10**low)


def at_bound(case: Case, half: Improvement, n: float = 4.0, signed: bool = False) -> Intermediate:
    """The lemma's two sides with `mu` at its bound."""
    case = within_bound(case, half, n, signed)
    new = improved(case, half)
    return intermediate(case.mdp, case.core, new, case.mu, half.temperature, n, signed)


def _lemma(
    half: Improvement, n: float = 4.0, signed: bool = False
) -> Callable[[Case], float | None]:
    def margin(case: Case) -> float | None:
        found = at_bound(case, half, n, signed)
        return found.actual - found.guaranteed if found.within and found.bound > 0 else None

    return margin


def _any_mu(half: Improvement, sharper: bool) -> Callable[[Case], float | None]:
    """Q_mid - Q_old with the case's own mu, over 0 or over our own promise."""

    def margin(case: Case) -> float | None:
        new = improved(case, half)
        found = intermediate(case.mdp, case.core, new, case.mu, half.temperature)
        return found.actual - (found.sharper if sharper else 0.0)

    return margin


# Lemma (nested_policy_improvement) and Theorem (NPI)


def _outer(half: Improvement) -> Callable[[Case], float]:
    """min (Q_new - Q_mid) of one outer improvement."""

    def margin(case: Case) -> float:
        core = improved(case, half)
        q_mid = mixed_values(case.mdp, mid_policy(core, case.mu), half.temperature)
        mu = half.inertia(q_mid, core)
        q_new = mixed_values(case.mdp, mixed(core, mu), half.temperature)
        return float((q_new - q_mid).min())

    return margin


def _chained(half: Improvement) -> Callable[[Case], float | None]:
    """min (Q_new - Q_old) of one whole round that begins within the lemma's bound."""

    def margin(case: Case) -> float | None:
        found = at_bound(case, half)
        if not found.within:
            return None
        case = within_bound(case, half)
        return _worst_round(case, half, half, rounds=1)

    return margin


def _worst_round(case: Case, inner: Improvement, outer: Improvement, rounds: int = 20) -> float:
    """The smallest change of any Q(s, a_prev, a) over a whole round of nested policy iteration."""
    steps = nested_policy_iteration(case.mdp, inner, outer, case.core, case.mu, rounds)
    whole = full_steps(steps)
    return min(float((b.q - a.q).min()) for a, b in pairwise(whole))


def _npi(inner: Improvement, outer: Improvement) -> Callable[[Case], float]:
    return lambda case: _worst_round(case, inner, outer)


def _settled(half: Improvement) -> Callable[[Case], float]:
    """The same, from a core that inner iterations no longer change."""

    return lambda case: _worst_round(replace(case, core=_settle(case, half)), half, half)


def _settle(case: Case, half: Improvement) -> np.ndarray:
    """The core after so many inner iterations that its values no longer change."""
    core, q = case.core, None
    for _ in range(1_000):
        before, q = q, core_values(case.mdp, core, half.temperature)
        if before is not None and abs(q - before).max() < 1e-13:
            break
        core = half.core(q)
    return core


def _limit_is_core(half: Improvement) -> Callable[[Case], float]:
    """Minus the distance of NPI's last Q from its core's."""

    def margin(case: Case) -> float:
        last = nested_policy_iteration(case.mdp, half, half, case.core, case.mu, rounds=500)[-1]
        return -float(abs(last.q - last.q_core[..., None, :]).max())

    return margin


_SOFT = soft(TEMPERATURE)
_COOLER = soft(TEMPERATURE / 10)

CHECKS = (
    Check("Theorem 3.1's rule: return", "one length", _rule("repeats", "return")),
    Check("Theorem 3.1's rule: xi", "one length", _rule("repeats", "oscillation")),
    Check("Theorem 3.1's rule: switch rate", "discounted",
          _rule("repeats", "oscillation")),
    Check("Theorem 3.1's rule: return", "any length", _rule("repeats", "return")),
    Check("Theorem 3.1's rule: xi", "any length", _rule("repeats", "oscillation"), False),
    Check("  counting switches: xi", "any length", _rule("switches", "oscillation"), False),
    Check("  weighing by length (ours): xi", "any length", _rule("ratio", "oscillation")),
    Check("  V_o(s) without a_prev: xi", "one length", _rule("state-only", "oscillation"), False),
    Check("  mu without the time: both", "one length", _timeless, False),
    Check("  mu = 0 around an optimal core", "discounted", _optimal_core),
    Check("Lemma 3.1, N = 4, greedy", "discounted", _lemma(greedy())),
    Check("Lemma 3.1, N = 8, greedy", "discounted", _lemma(greedy(), 8)),
    Check("Lemma 3.1, N = 8, soft", "discounted", _lemma(_SOFT, 8), False),
    Check("  mu beyond the bound, greedy", "discounted", _any_mu(greedy(), False), False),
    Check("  sharper promise (ours), greedy", "discounted", _any_mu(greedy(), True)),
    Check("  sharper promise (ours), soft", "discounted", _any_mu(_SOFT, True)),
    Check("Lemma 3.2, the outer half, greedy", "discounted", _outer(greedy())),
    Check("Lemma 3.2, the outer half, soft", "discounted", _outer(_SOFT)),
    Check("Lemma 3.2, from mu in the bound", "discounted", _chained(greedy())),
    Check("Theorem 3.2, greedy", "discounted", _npi(greedy(), greedy()), False),
    Check("Theorem 3.2, soft", "discounted", _npi(_SOFT, _SOFT), False),
    Check("Theorem 3.2, soft, outer cooler", "discounted", _npi(_SOFT, _COOLER), False),
    Check("  once the core is settled, greedy", "discounted", _settled(greedy())),
    Check("  once the core is settled, soft", "discounted", _settled(_SOFT)),
    Check("  in the end mu is idle, greedy", "discounted", _limit_is_core(greedy())),
    Check("  in the end mu is idle, soft", "discounted", _limit_is_core(_SOFT)),
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A check over many cases."""

    check: Check
    tried: int
    said_nothing: int
    failed: int
    smallest: float  # margin that held
    violation: float  # largest; 0 if there is none


def run_checks(
    cases: int,
    seed: int = 0,
    checks: Iterable[Check] = CHECKS,
    states: int = 4,
    actions: int = 3,
    gamma: float = 0.9,
) -> Iterator[Finding]:
    """Every check over as many random cases; the case numbers are the same for all of them."""
    for check in checks:
        drawn = _draw(cases, seed, check.kind, states, actions, gamma)
        margins = [check.margin(case) for case in drawn]
        told = np.array([m for m in margins if m is not None])
        held = told[told >= -TOLERANCE]
        yield Finding(
            check,
            cases,
            cases - len(told),
            len(told) - len(held),
            float(held.min()) if len(held) else float("nan"),
            float(max(0.0, -told.min())) if len(told) > len(held) else 0.0,
        )


def _draw(
    cases: int, seed: int, kind: str, states: int, actions: int, gamma: float
) -> Iterator[Case]:
    if cases < 1:
        raise InputError(f"cases is {cases}: it must be at least 1")
    for k in range(cases):
        rng = np.random.default_rng([seed, k])
        yield random_case(rng, kind, states, actions, gamma)


def median_bounds(
    cases: int, seed: int = 0, states: int = 4, actions: int = 3, gamma: float = 0.9
) -> tuple[float, float]:
    """The largest mu that Lemma 3.1 allows for a greedy improvement, and that ours does: medians.

    C_0 is taken for mu near 0, where the paper's bound is at its largest.
    """
    found = [
        intermediate(case.mdp, case.core, improved(case, greedy()), np.zeros_like(case.mu))
        for case in _draw(cases, seed, "discounted", states, actions, gamma)
    ]
    return float(np.median([f.bound for f in found])), float(
        np.median([f.sharper_bound for f in found])
    )
