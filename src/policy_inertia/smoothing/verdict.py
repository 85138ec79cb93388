"""Which policy to use: the bare core, the core with a filter, or the core with a controller.

All of them act on the same held-out episodes, so their differences are paired. A loss is a share of
what the core gains over random actions: a share of the return means nothing near a return of 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policy_inertia.actions.switching import Switching
from policy_inertia.metrics.estimates import Interval, t_interval, upper_bound
from policy_inertia.metrics.measures import (
    CRASHES,
    FORCED,
    MEASURES,
    RETURN,
    Evaluation,
    Measure,
    select_measures,
)
from policy_inertia.smoothing.safety import Safety
from policy_inertia.smoothing.wording import SWITCHING, Wording

CRASH_MARGIN = 0.02  # a crash rate that is higher by at most this counts as equal


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy and its figures on the held-out episodes.

    Attributes:
        name: "core", "limit", "controller", or the name of its filter.
        policy: The policy: a `Policy`, or a `ContinuousCore`.
        figures: Every measure by name.
        intervals: 95% intervals over episodes, for measures that are means over episodes.
        values: The numbers behind these means, one per episode.
        safety: What a sequential test showed about its loss; None without one.
    """

    name: str
    policy: Any
    figures: dict[str, Any]
    intervals: dict[str, Interval]
    values: dict[str, np.ndarray] = field(repr=False)
    safety: Safety | None = None

    @classmethod
    def of_evaluation(cls, name: str, policy: Any, evaluation: Evaluation) -> Candidate:
        """A candidate from its held-out episodes."""
        values = {}
        for measure in MEASURES.values():
            per_episode = measure.values(evaluation)
            if per_episode is not None:
                values[measure.name] = per_episode
        known = {name: t_interval(v) for name, v in values.items()}
        intervals = {name: ends for name, ends in known.items() if ends is not None}
        return cls(name, policy, evaluation.summary(), intervals, values)

    @property
    def return_(self) -> float:
        """The mean return."""
        return float(self.figures[RETURN.name])

    def amount(self, measure: Measure) -> float:
        """The mean of what a budget bounds."""
        return float(self.figures[measure.name])

    @property
    def setting(self) -> str:
        """What the policy's filter, price or limit is set to; empty for the core."""
        policy, parts = self.policy, []
        if policy.limit is not None:
            parts.append(f"limit {policy.limit.rate:g}, burst {policy.limit.burst:g}")
        if policy.setting is not None and not policy.traits.limit:
            parts.append(f"{policy.setting_name} {policy.setting:.3g}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Setting, figures and intervals as JSON."""
        return {
            **self.policy.settings,
            **self.figures,
            "intervals_over_episodes": self.intervals,
            **({} if self.safety is None else {"safety": self.safety.to_dict()}),
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
    return text_table(rows)


def details_table(candidates: Iterable[Candidate], measures: Iterable[Measure]) -> str:
    """The candidates as rows of text, one column for each of some measures, without intervals."""
    measures = list(measures)
    rows = [[c.name, *(m.show(c.figures.get(m.name)) for m in measures)] for c in candidates]
    return text_table([["", *(m.title for m in measures)], *rows])


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as lines of text, with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


@dataclass(frozen=True)
class Verdict:
    """The recommendation.

    Attributes:
        name: The name of the recommended candidate.
        reason: The reason in one sentence.
        met: Whether it keeps the budget or the limit and is not worse than the core.
    """

    name: str
    reason: str
    met: bool

    def __str__(self) -> str:
        return f"{self.name}. {self.reason}"


@dataclass(frozen=True)
class Stakes:
    """What a loss is measured against.

    Attributes:
        core: The core on the held-out episodes.
        random_return: Mean return of random actions.
        loss: Largest share of (core - random) that smoothing may cost.
        wording: What is counted, and how it is said.
    """

    core: Candidate
    random_return: float
    loss: float
    wording: Wording = SWITCHING

    def amount(self, candidate: Candidate) -> float:
        """How much a candidate switches or moves."""
        return candidate.amount(self.wording.measure)

    def bound(self, candidate: Candidate) -> float:
        """One-sided upper 95% bound of how much a candidate switches or moves."""
        return upper_bound(candidate.values[self.wording.measure.name])

    def meets(self, candidate: Candidate, budget: float) -> bool:
        """Whether that bound is within a budget."""
        return self.bound(candidate) <= budget

    def does(self, candidate: Candidate) -> str:
        """How much a candidate switches or moves, in words."""
        return f"{self.wording.does} {self.amount(candidate):.3g}"

    @property
    def gain(self) -> float:
        """What the core gains over random actions; 0 if it is no better."""
        return max(self.core.return_ - self.random_return, 0.0)

    def loss_of(self, candidate: Candidate) -> Loss:
        """What a candidate loses, paired by episode."""
        values = self.core.values[RETURN.name] - candidate.values[RETURN.name]
        mean = float(values.mean())
        low, high = t_interval(values) or (mean, mean)
        return Loss(mean, low, high, self.gain)

    def fault(self, candidate: Candidate) -> str:
        """Why a candidate is out; empty if it may be recommended."""
        if candidate.safety is not None:
            return candidate.safety.fault(self.loss) or _crash_fault(candidate, self.core)
        loss = self.loss_of(candidate)
        allowed = self.loss * self.gain
        if loss.mean > allowed:
            return f"is out, since it {loss}, and {100 * self.loss:g}% are allowed"
        if loss.high > allowed:
            return f"is out, since it {loss}: only more episodes can exclude a larger loss"
        return _crash_fault(candidate, self.core)


@dataclass(frozen=True)
class Loss:
    """A loss of return with its 95% interval, and the gain over random actions for shares."""

    mean: float
    low: float
    high: float
    gain: float

    def to_dict(self) -> dict[str, float | None]:
        """The loss and its interval as shares of the gain; None where the gain is 0."""
        return {
            name: getattr(self, name) / self.gain if self.gain else None
            for name in ("mean", "low", "high")
        }

    def __str__(self) -> str:
        verb, sign = ("loses", 1) if self.mean >= 0 else ("gains", -1)
        low, high = sorted((sign * self.low, sign * self.high))
        if not self.gain:
            return f"{verb} {sign * self.mean:.4g} [{low:.4g}, {high:.4g}]"
        mean, low, high = (x / self.gain for x in (sign * self.mean, low, high))
        return f"{verb} {mean:.1%} [{low:.1%}, {high:.1%}]"


def decide(candidates: dict[str, Candidate], budget: float, stakes: Stakes) -> Verdict:
    """Choose the best return among the candidates that keep the budget and are not worse.

    A candidate keeps the budget if it switches or moves no more on the held-out episodes; its
    setting was chosen by an upper bound on other episodes. It is worse than the core if the upper
    end of the interval of its loss is above `stakes.loss`, or if it crashes more often: by more
    than CRASH_MARGIN, or by less if the interval of the difference excludes 0. If no candidate
    keeps the budget, the smoothest one that is not worse is chosen. The core itself is never worse.

    Args:
        candidates: By name; "core" must be one of them.
        budget: Largest amount of what is counted.
        stakes: What a loss is measured against.
    """
    core, notes, sound = stakes.core, [], [stakes.core]
    for candidate in candidates.values():
        fault = "" if candidate is core else stakes.fault(candidate)
        if fault:
            notes.append(f"{candidate.name} {fault}")
        elif candidate is not core:
            sound.append(candidate)
    within = [c for c in sound if stakes.amount(c) <= budget]
    if within:
        best = max(within, key=lambda c: c.return_)
        about_budget = f"within the budget of {budget:.3g}"
    else:
        best = min(sound, key=stakes.amount)
        about_budget = (
            f"the budget of {budget:.3g} is not met by any policy that is as good as the core"
        )
    notes += [f"{c.name} {stakes.does(c)}" for c in sound if c not in (*within, best, core)]
    reason = (
        f"It {stakes.does(best)}{stakes.wording.per} ({about_budget}) and {_cost(best, stakes)}"
    )
    return Verdict(best.name, "; ".join([reason, *notes]) + ".", bool(within))


def decide_within(
    candidates: dict[str, Candidate],
    limit: Any,
    stakes: Stakes,
    budget: float | None = None,
    rules: Switching | None = None,
) -> Verdict:
    """Choose the best return among the candidates that keep a limit or a dwell: all but the core.

    A candidate that is worse than the core, as `decide` defines it, is chosen only if all are. So
    is one beyond the budget, if there is a budget too.

    Args:
        candidates: By name; "core" must be one of them, beside others that keep the limit.
        limit: The limit; None with a dwell alone.
        stakes: What a loss is measured against.
        budget: Largest amount of what is counted; None if only the limit matters.
        rules: What switches cost, and how long actions are held; None without such rules.
    """
    limited = [c for c in candidates.values() if c is not stakes.core]
    faults = {c.name: stakes.fault(c) for c in limited}
    sound = [c for c in limited if not faults[c.name]]
    within = [c for c in sound if budget is None or stakes.amount(c) <= budget]
    if not sound and any(c.safety is not None for c in limited):
        reasons = [f"{name} {fault}" for name, fault in faults.items()]
        rule = "dwell" if limit is None else "limit"
        reasons.insert(
            0, f"It does not keep the {rule}, and no policy that does is shown to be safe"
        )
        return Verdict(stakes.core.name, "; ".join(reasons) + ".", False)
    best = max(within or sound or limited, key=lambda c: c.return_)
    about_budget = ""
    if budget is not None:
        inside = "within" if stakes.amount(best) <= budget else "not within"
        about_budget = f" ({inside} the budget of {budget:.3g})"
    keeps = _kept(limit, rules or Switching(), stakes.wording)
    if FORCED.name in best.values:
        forced = FORCED.show(float(best.values[FORCED.name].mean()))
        keeps += f" (but for {forced} an episode that action masks forced)"
    reason = (
        f"It {keeps}, {stakes.does(best)}{stakes.wording.per}{about_budget} and "
        f"{_cost(best, stakes)}"
    )
    within_it = "with this dwell" if limit is None else "within the limit"
    notes = [] if sound else [f"no policy {within_it} is as good as the core"]
    notes += [f"{name} {fault}" for name, fault in faults.items() if fault and name != best.name]
    return Verdict(best.name, "; ".join([reason, *notes]) + ".", bool(within))


def _kept(limit: Any, rules: Switching, wording: Wording) -> str:
    """A limit and rules of switching in words, as what a policy does."""
    texts = []
    if limit is not None:
        text = wording.keeps.format(burst=limit.burst, rate=limit.rate)
        if rules.costs is not None:
            text = (
                f"spends at most {limit.burst:g} + {limit.rate:g} n tokens in n steps, always, of "
                f"which a switch takes up to {max(map(max, rules.costs)):g}"
            )
        texts.append(text + (", in each head" if getattr(limit, "per_head", False) else ""))
    if rules.dwell > 1:
        texts.append(f"holds every action for at least {rules.dwell} steps")
    return " and ".join(texts)


def keep_core(stakes: Stakes, budget: float) -> Verdict:
    """The verdict where the core itself meets the budget."""
    core = stakes.core
    return Verdict(
        core.name,
        f"It {stakes.does(core)}{stakes.wording.per} (at most {stakes.bound(core):.3g} with 95% "
        f"confidence), so it already meets the budget of {budget:.3g}.",
        True,
    )


def _cost(best: Candidate, stakes: Stakes) -> str:
    """What a candidate returns and loses, beside the core and random actions."""
    core = stakes.core
    beside = (
        f"(core: {stakes.amount(core):.3g}, {core.return_:.4g}; random actions return "
        f"{stakes.random_return:.4g})"
    )
    if best is core:
        return f"returns {core.return_:.4g} {beside}"
    unit = " of what the core gains over random actions" if stakes.gain else ""
    return f"returns {best.return_:.4g}: it {stakes.loss_of(best)}{unit} {beside}"


def _crash_fault(candidate: Candidate, core: Candidate) -> str:
    if CRASHES.name not in candidate.values or CRASHES.name not in core.values:
        return ""
    more = candidate.values[CRASHES.name] - core.values[CRASHES.name]
    resolved = t_interval(more)
    if more.mean() <= CRASH_MARGIN and (resolved is None or resolved[0] <= 0):
        return ""
    return (
        f"is out, since it crashes in {candidate.figures[CRASHES.name]:.0%} of the "
        f"episodes and the core in {core.figures[CRASHES.name]:.0%}"
    )
