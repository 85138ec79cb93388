"""Everything that `policy-inertia theory` computes: all checks, and the examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policy_inertia.errors import InputError, nearest
from policy_inertia.tabular.checks import CHECKS, CheckResult, median_bounds, run_checks
from policy_inertia.tabular.example_results import ExampleResult, solve_example
from policy_inertia.tabular.examples import EXAMPLES


@dataclass(frozen=True)
class Survey:
    """The results of all checks and examples."""

    results: list[CheckResult]
    examples: list[ExampleResult]
    paper_bound: float
    """Median over random MDPs of the largest mu that Lemma 3.1 allows."""
    our_bound: float
    """Median of the largest mu that our sharper bound allows."""

    @property
    def broken(self) -> list[str]:
        """The statements that have a proof and failed nevertheless: an error in this package."""
        return [r.check.statement.strip() for r in self.results if r.check.proved and r.failed]


def run_survey(
    mdps: int = 100,
    states: int = 4,
    actions: int = 3,
    gamma: float = 0.9,
    seed: int = 0,
    examples: Sequence[str] = tuple(EXAMPLES),
    progress: Callable[[int, int, str], None] = lambda done, total, current: None,
) -> Survey:
    """Run all checks on random MDPs, and solve the examples.

    Args:
        mdps: Random MDPs for each statement.
        states: States of each random MDP.
        actions: Actions of each random MDP.
        gamma: Discount factor of each random MDP.
        seed: Seed of the random MDPs.
        examples: Names in `EXAMPLES`.
        progress: Called before each part with the number of finished parts, the number of all
            parts and the name of the part; and once at the end.

    Returns:
        The results.

    Raises:
        InputError: A number is out of range, or there is no example of a given name.
    """
    for name, value, least in (("mdps", mdps, 1), ("states", states, 1), ("actions", actions, 2)):
        if value < least:
            raise InputError(f"{name} is {value}: it must be at least {least}")
    if not 0 <= gamma < 1:
        raise InputError(f"gamma is {gamma}: it must lie in [0, 1)")
    for name in examples:
        if name not in EXAMPLES:
            raise InputError(f"there is no example '{name}'{nearest(name, EXAMPLES)}")
    total = len(CHECKS) + len(examples)
    results: list[CheckResult] = []
    for check in CHECKS:
        progress(len(results), total, check.statement.strip())
        results += run_checks(mdps, seed, (check,), states, actions, gamma)
    solved: list[ExampleResult] = []
    for name in examples:
        progress(len(results) + len(solved), total, name)
        solved.append(solve_example(EXAMPLES[name]()))
    paper_bound, our_bound = median_bounds(mdps, seed, states, actions, gamma)
    progress(total, total, "")
    return Survey(results, solved, paper_bound, our_bound)
