"""Which policy to use: the bare core, the core with a filter, or the core with a controller.

All of them act on the same held-out episodes, so their differences are paired.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.metrics.measures import (
    CRASHES,
    MEASURES,
    OSCILLATION,
    RETURN,
    Evaluation,
    Measure,
    select_measures,
)
from policy_inertia.policies.policy import Policy

RESAMPLES = 2_000  # of the bootstrap
CRASH_MARGIN = 0.02  # a crash rate that is higher by at most this counts as equal

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy and its figures on the held-out episodes.

    Attributes:
        name: "core", "filter", "hysteresis" or "controller".
        policy: The policy.
        figures: Every measure by name.
        intervals: 95% intervals over episodes, for measures that are means over episodes.
        values: The numbers behind these means, one per episode.
    """

    name: str
    policy: Policy
    figures: dict[str, Any]
    intervals: dict[str, Interval]
    values: dict[str, np.ndarray] = field(repr=False)

    @classmethod
    def of_evaluation(cls, name: str, policy: Policy, evaluation: Evaluation) -> Candidate:
        """A candidate from its held-out episodes."""
        values = {}
        for measure in MEASURES.values():
            per_episode = measure.values(evaluation)
            if per_episode is not None:
                values[measure.name] = per_episode
        intervals = {key: interval(v) for key, v in values.items()}
        return cls(name, policy, evaluation.summary(), intervals, values)

    @property
    def setting(self) -> str:
        """The threshold, the price or the limit that the policy is set to; empty for the core."""
        policy, parts = self.policy, []
        if policy.limit is not None:
            parts.append(f"limit {policy.limit.rate:g}, burst {policy.limit.burst:g}")
        if policy.setting is not None and not policy.traits.limit:
            parts.append(f"{policy.setting_name} {policy.setting:.3g}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Setting, figures and intervals as JSON."""
        return {
            "price": self.policy.price,
            "hysteresis": self.policy.hysteresis,
            "limit": self.policy.limit and self.policy.limit.to_dict(),
            **self.figures,
            "intervals_over_episodes": self.intervals,
        }

    def cell(self, measure: Measure) -> str:
        """A measure with its interval, as text."""
        text = measure.show(self.figures.get(measure.name))
        if measure.name not in self.intervals:
            return text
        low, high = self.intervals[measure.name]
        return f"{text} [{measure.show(low)}, {measure.show(high)}]"


def comparison_table(candidates: Iterable[Candidate]) -> str:
    """The candidates as rows of text, one column for each headline measure."""
    candidates = list(candidates)
    measures = select_measures((c.figures for c in candidates), "headline")
    rows = [
        ["", "setting", *(m.label for m in measures)],
        *([c.name, c.setting, *(c.cell(m) for m in measures)] for c in candidates),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


@dataclass(frozen=True)
class Verdict:
    """The name of the recommended candidate, and the reason in one sentence."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}. {self.reason}"


def interval(values: np.ndarray) -> Interval:
    """A 95% bootstrap interval of a mean over episodes.

    All candidates use the same resampled episodes, so that their differences are paired.
    """
    n = len(values)
    draws = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    low, high = np.quantile(values[draws].mean(1), [0.025, 0.975])
    return float(low), float(high)


def decide(candidates: dict[str, Candidate], budget: float, loss: float) -> Verdict:
    """Choose the best return among the candidates that stay within the budget and are not worse.

    A candidate is within the budget if the interval of its oscillation ratio reaches down to it.
    A candidate is worse than the core if it loses more than the share `loss` of the mean return,
    or crashes more often: by more than CRASH_MARGIN, or by less if the interval of the difference
    excludes 0. If no candidate is within the budget, the smoothest one that is not worse is
    chosen. The core itself is never worse.

    Args:
        candidates: By name; "core" must be one of them.
        budget: Largest oscillation ratio.
        loss: Largest share of the core's mean return that may be lost.
    """
    core = candidates["core"]
    notes, sound = [], [core]
    for candidate in candidates.values():
        if candidate is core:
            continue
        fault = _fault(candidate, core, loss)
        if fault:
            notes.append(f"{candidate.name} {fault}")
        else:
            sound.append(candidate)
    within = [c for c in sound if c.intervals[OSCILLATION.name][0] <= budget]
    if within:
        best = max(within, key=lambda c: c.figures[RETURN.name])
        about_budget = f"within the budget of {budget:.3g}"
    else:
        best = min(sound, key=lambda c: c.figures[OSCILLATION.name])
        about_budget = (
            f"the budget of {budget:.3g} is not met by any policy that is as good as the core"
        )
    notes += [
        f"{c.name} switches at {c.figures[OSCILLATION.name]:.3g}"
        for c in sound
        if c not in (*within, best, core)
    ]
    reason = (
        f"It switches at {best.figures[OSCILLATION.name]:.3g} of the steps ({about_budget}) with a "
        f"return of {best.figures[RETURN.name]:.4g} (core: {core.figures[OSCILLATION.name]:.3g}, "
        f"{core.figures[RETURN.name]:.4g})"
    )
    return Verdict(best.name, "; ".join([reason, *notes]) + ".")


def decide_within(candidates: dict[str, Candidate], limit: Limit, loss: float) -> Verdict:
    """Choose the best return among the candidates that keep a limit: all but the core.

    A candidate that is worse than the core, as `decide` defines it, is chosen only if all are.

    Args:
        candidates: By name; "core" must be one of them, beside others that keep the limit.
        limit: The limit.
        loss: Largest share of the core's mean return that may be lost.
    """
    core = candidates["core"]
    limited = [c for c in candidates.values() if c is not core]
    faults = {c.name: _fault(c, core, loss) for c in limited}
    sound = [c for c in limited if not faults[c.name]]
    best = max(sound or limited, key=lambda c: c.figures[RETURN.name])
    reason = (
        f"It makes at most {limit.burst:g} + {limit.rate:g} n switches in n steps, always, and "
        f"{_cost(best, core)}"
    )
    notes = [] if sound else ["no policy within the limit is as good as the core"]
    notes += [f"{name} {fault}" for name, fault in faults.items() if fault and name != best.name]
    return Verdict(best.name, "; ".join([reason, *notes]) + ".")


def _cost(best: Candidate, core: Candidate) -> str:
    """How often a candidate switches and what it returns, beside the core."""
    return (
        f"switches at {best.figures[OSCILLATION.name]:.3g} of the steps with a return of "
        f"{best.figures[RETURN.name]:.4g} (core: {core.figures[OSCILLATION.name]:.3g}, "
        f"{core.figures[RETURN.name]:.4g})"
    )


def _fault(candidate: Candidate, core: Candidate, loss: float) -> str:
    """Why a candidate is worse than the core; empty if it is not."""
    return_, core_return = candidate.figures[RETURN.name], core.figures[RETURN.name]
    if core_return - return_ > loss * abs(core_return):
        return f"is out, since its return is {return_:.4g} and the core's is {core_return:.4g}"
    if CRASHES.name in candidate.values and CRASHES.name in core.values:
        more = candidate.values[CRASHES.name] - core.values[CRASHES.name]
        if more.mean() > CRASH_MARGIN or interval(more)[0] > 0:
            return (
                f"is out, since it crashes in {candidate.figures[CRASHES.name]:.0%} of the "
                f"episodes and the core in {core.figures[CRASHES.name]:.0%}"
            )
    return ""
