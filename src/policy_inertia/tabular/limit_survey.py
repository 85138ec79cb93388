"""Hard limits on switching against prices of switching: on one MDP, and over many Garnets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from policy_inertia.errors import InputError
from policy_inertia.tabular.cases import random_case
from policy_inertia.tabular.curve import Curve
from policy_inertia.tabular.exact_bucket import TokenBucket
from policy_inertia.tabular.limits import (
    LimitedPolicy,
    chance_of_break,
    filtered,
    price_curve,
    solve_limit,
)
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.two_way_mdp import two_way

RATES = tuple(map(Fraction, ("0", "1/10", "1/5", "1/3", "1/2")))
BURSTS = (1, 2, 4)
BURST = 2  # of the tables
COUNT = TokenBucket(0, 4)  # at most four switches in an episode
_NOTHING = 1e-6  # a gain in return below this is none


class Figures(NamedTuple):
    """A limit compared with prices. Returns are shares of what switching can gain.

    0 is the best policy that never switches, 1 the best policy without a limit or a price.
    """

    switch_rate: float
    """Of the best policy under the limit; prices are compared at this rate."""
    mixed: float
    """Best return in expectation: of all policies, random ones included, at that rate."""
    price: float
    """Best return of a single price: the best vertex with at most that rate."""
    limit: float
    """Best return under the limit."""
    filter_: float
    """Return inside the bucket without planning: of the best policy or the price's, the larger."""
    breaks: float
    """Probability that an episode of the policy of that price breaks the limit."""

    @property
    def lead(self) -> float:
        """What the limit gains over a single price with at most its switch rate."""
        return self.limit - self.price

    @property
    def duality_gap(self) -> float:
        """What a single price loses against the best in expectation."""
        return self.mixed - self.price

    @property
    def cost(self) -> float:
        """What a guarantee for every stretch costs against the best in expectation."""
        return self.mixed - self.limit


@dataclass(frozen=True)
class Comparison:
    """The curve of prices of one MDP, and its limits."""

    mdp: MDP
    curve: Curve[LimitedPolicy]
    limits: list[LimitedPolicy]
    figures: list[Figures]

    def at_burst(self) -> list[Figures]:
        """The figures of the limits with `BURST`, one for each of `RATES`."""
        rows = zip(self.limits, self.figures, strict=True)
        return [figures for limit, figures in rows if limit.bucket.burst == BURST]

    def share(self, return_: float) -> float:
        """A return as a share of what switching can gain."""
        first, top = self.curve.vertices[0].return_, self.curve.vertices[-1].return_
        return (return_ - first) / (top - first)


def compare_limits(mdp: MDP, bursts: Sequence[int] = (BURST,)) -> Comparison | None:
    """Compare limits of all `RATES` with prices on one MDP.

    Args:
        mdp: The MDP.
        bursts: Bursts of the limits.

    Returns:
        The comparison, or None if nothing can be gained by switching.
    """
    curve = price_curve(mdp)
    first, top = curve.vertices[0], curve.vertices[-1]
    if top.return_ - first.return_ < _NOTHING:
        return None
    buckets = [TokenBucket(rate, burst) for burst in bursts for rate in RATES]
    comparison = Comparison(mdp, curve, [solve_limit(mdp, bucket) for bucket in buckets], [])
    for limit in comparison.limits:
        rate = limit.switch_rate
        price = curve.best_vertex(rate)
        unplanned = max(filtered(mdp, p, limit.bucket).return_ for p in (top, price))
        returns = (curve.best_return(rate), price.return_, limit.return_, unplanned)
        breaks = chance_of_break(mdp, price, limit.bucket)
        comparison.figures.append(Figures._make([rate, *map(comparison.share, returns), breaks]))
    return comparison


@dataclass(frozen=True)
class Family:
    """Random MDPs of one size."""

    name: str
    states: int
    actions: int
    gamma: float
    horizon: int | None = None

    def draw(self, seed: int, k: int) -> MDP:
        """The k-th MDP of a seed, as in `cases.random_cases`."""
        rng = np.random.default_rng([seed, k])
        mdp = random_case(rng, "discounted", self.states, self.actions).mdp
        return replace(mdp, gamma=self.gamma, horizon=self.horizon, name=f"Garnet, {self.name}")


FAMILIES = (
    Family("4 states, γ 0.9", 4, 3, 0.9),
    Family("20 states, γ 0.9", 20, 4, 0.9),
    Family("20 states, γ 0.99", 20, 4, 0.99),
    Family("4 states, 25 steps", 4, 3, 1.0, horizon=25),
)


SCENES: dict[str, Callable[[], MDP]] = {
    "Two-Way, simple": lambda: two_way(scenario="simple"),
    "Two-Way, dense": two_way,
}


class Interval(NamedTuple):
    """A mean with half the width of its 95% interval (Student's)."""

    mean: float
    half: float


@dataclass(frozen=True)
class FamilyResult:
    """One limit for each of `RATES`, compared with prices on many MDPs of a family."""

    family: Family
    drawn: int
    """MDPs drawn; some have nothing to gain by switching, and do not count."""
    example: Comparison
    """The first MDP, with all `BURSTS`."""
    vertices: list[int]
    """How many policies prices reach on each MDP."""
    figures: list[list[Figures]]
    """For each of `RATES`, the figures of each MDP."""

    def interval(self, k: int, name: str) -> Interval:
        """Mean and interval of one attribute of `Figures` at the k-th rate."""
        values = np.array([getattr(f, name) for f in self.figures[k]])
        n = len(values)
        half = stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n) if n > 1 else float("nan")
        return Interval(float(values.mean()), float(half))


@dataclass(frozen=True)
class LimitSurvey:
    """Limits against prices on Two-Way's scenes and on families of Garnets."""

    scenes: list[Comparison]
    """Two-Way's scenes, with all `BURSTS`."""
    priced: Curve[LimitedPolicy]
    """Prices on the first scene inside `COUNT`: a hard limit for each episode, and a price."""
    families: list[FamilyResult]


def compare_family(family: Family, mdps: int, seed: int = 0) -> FamilyResult:
    """Compare limits with prices on the first MDPs of a family.

    Args:
        family: The family.
        mdps: Number of MDPs.
        seed: Seed of the MDPs.

    Returns:
        The figures of all MDPs on which switching gains anything.

    Raises:
        InputError: There is no such MDP.
    """
    comparisons = [compare_limits(family.draw(seed, k)) for k in range(mdps)]
    useful = [(k, c) for k, c in enumerate(comparisons) if c]
    if not useful:
        raise InputError(f"switching gains nothing on {mdps} MDPs of {family.name}: draw more")
    example = compare_limits(family.draw(seed, useful[0][0]), BURSTS)
    assert example
    vertices = [len(c.curve.vertices) for _, c in useful]
    figures = [[c.figures[i] for _, c in useful] for i in range(len(RATES))]
    return FamilyResult(family, mdps, example, vertices, figures)


def check_garnets(garnets: int) -> None:
    """Refuse fewer than two Garnets, which have no interval."""
    if garnets < 2:
        raise InputError(f"garnets is {garnets}: it must be at least 2, for an interval")


def run_limit_survey(
    garnets: int = 20,
    seed: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, current: None,
) -> LimitSurvey:
    """Compare limits with prices on Two-Way's `SCENES` and on every family of `FAMILIES`.

    Args:
        garnets: Random MDPs of each family.
        seed: Seed of the random MDPs.
        progress: Called before each part with the number of finished parts, the number of all
            parts and the name of the part; and once at the end.

    Returns:
        The comparisons.

    Raises:
        InputError: There are fewer than two Garnets, so there is no interval.
    """
    check_garnets(garnets)
    total = len(FAMILIES) + len(SCENES)
    results: list[FamilyResult] = []
    for family in FAMILIES:
        progress(len(results), total, family.name)
        results.append(compare_family(family, garnets, seed))
    scenes: list[Comparison] = []
    for name, make in SCENES.items():
        progress(len(results) + len(scenes), total, name)
        scene = compare_limits(replace(make(), name=name), BURSTS)
        assert scene
        scenes.append(scene)
    priced = price_curve(scenes[0].mdp, COUNT, tolerance=1e-7)
    progress(total, total, "")
    return LimitSurvey(scenes, priced, results)
