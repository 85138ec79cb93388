"""The bare core, hysteresis and a controller on the same episodes: which of them to use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policy_inertia.metrics.episodes import switches
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.policies.policy import Policy

REPETITIONS = 2_000
CRASHES = 0.02  # a crash rate that is higher by no more counts as equal, unless it is resolved

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy, and what it did on the held-out episodes: means, and intervals over episodes."""

    name: str
    policy: Policy
    figures: dict[str, float | Any]
    intervals: dict[str, Interval]
    values: dict[str, np.ndarray] = field(repr=False)  # one for each episode

    @property
    def setting(self) -> str:
        if self.policy.hysteresis is not None:
            return f"threshold {self.policy.hysteresis:.3g}"
        return "" if self.policy.price is None else f"price {self.policy.price:.3g}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "price": self.policy.price,
            "hysteresis": self.policy.hysteresis,
            **self.figures,
            "intervals_over_episodes": self.intervals,
        }

    def __str__(self) -> str:
        cells = [
            self._cell(key, style)
            for key, style in (
                ("oscillation_ratio", "{:.3f}"),
                ("return", "{:.2f}"),
                ("crash_rate", "{:.2f}"),
            )
        ]
        return f"{self.name:12} {self.setting:>18}  {cells[0]:^22}  {cells[1]:^24}  {cells[2]:^20}"

    def _cell(self, key: str, style: str) -> str:
        if key not in self.intervals:
            return ""
        low, high = self.intervals[key]
        return f"{style.format(self.figures[key])} [{style.format(low)}, {style.format(high)}]"


@dataclass(frozen=True)
class Verdict:
    """The name of the recommended candidate, and why it is that one."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}. {self.reason}"


def measured(name: str, policy: Policy, evaluation: Evaluation) -> Candidate:
    """A candidate from its episodes."""
    episodes = evaluation.episodes
    values = {
        "return": np.array([e.return_ for e in episodes]),
        "oscillation_ratio": np.array([switches(e.actions) / len(e) for e in episodes]),
    }
    if all(e.crashed is not None for e in episodes):
        values["crash_rate"] = np.array([float(bool(e.crashed)) for e in episodes])
    intervals = {key: interval(v) for key, v in values.items()}
    return Candidate(name, policy, evaluation.summary(), intervals, values)


def interval(values: np.ndarray) -> Interval:
    """A 95% bootstrap interval of the mean over episodes; the same draws for all candidates, so
    that differences between them are paired."""
    n = len(values)
    draws = np.random.default_rng(0).integers(0, n, (REPETITIONS, n))
    low, high = np.quantile(values[draws].mean(1), [0.025, 0.975])
    return float(low), float(high)


def decide(candidates: dict[str, Candidate], budget: float, loss: float) -> Verdict:
    """The best return among those within the budget that neither lose nor crash more.

    Within the budget is a candidate whose interval of the oscillation ratio reaches down to it. It
    loses if its mean return is below the core's by more than the share `loss`; it crashes more if
    its rate is higher by more than CRASHES, or by less but resolved. Where nobody keeps the budget,
    the smoothest of those that are no worse is taken; the core itself is never worse.
    """
    core = candidates["core"]
    notes, sound = [], [core]
    for c in candidates.values():
        if c is core:
            continue
        worse = _worse(c, core, loss)
        if worse:
            notes.append(f"{c.name} {worse}")
        else:
            sound.append(c)
    within = [c for c in sound if c.intervals["oscillation_ratio"][0] <= budget]
    if within:
        best = max(within, key=lambda c: c.figures["return"])
        kept = f"within the budget of {budget:.3g}"
    else:
        best = min(sound, key=lambda c: c.figures["oscillation_ratio"])
        kept = f"the budget of {budget:.3g} is not kept by anything that is no worse than the core"
    notes += [
        f"{c.name} switches at {c.figures['oscillation_ratio']:.3g}"
        for c in sound
        if c not in (*within, best, core)
    ]
    reason = (
        f"It switches at {best.figures['oscillation_ratio']:.3g} of the steps ({kept}) with a "
        f"return of {best.figures['return']:.4g} (core: {core.figures['oscillation_ratio']:.3g}, "
        f"{core.figures['return']:.4g})"
    )
    return Verdict(best.name, "; ".join([reason, *notes]) + ".")


def _worse(c: Candidate, core: Candidate, loss: float) -> str:
    """In what a candidate is worse than the core; nothing if it is not."""
    lost = core.figures["return"] - c.figures["return"]
    if lost > loss * abs(core.figures["return"]):
        return (
            f"is out, since its return is {c.figures['return']:.4g} against the core's "
            f"{core.figures['return']:.4g}"
        )
    if "crash_rate" in c.values and "crash_rate" in core.values:
        more = c.values["crash_rate"] - core.values["crash_rate"]
        if more.mean() > CRASHES or interval(more)[0] > 0:
            return (
                f"is out, since it crashes in {c.figures['crash_rate']:.0%} of the episodes "
                f"against the core's {core.figures['crash_rate']:.0%}"
            )
    return ""
