"""What a policy shall become: within a budget of oscillation, or within a limit on switching."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.calibration.budget import best_setting
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.lab import Lab
from policy_inertia.smoothing.verdict import (
    Candidate,
    Stakes,
    Verdict,
    decide,
    decide_within,
    keep_core,
)


class Goal(Protocol):
    """What `smooth` asks of a budget or a limit."""

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        """The verdict if the bare core is good enough; None if it is not."""
        ...

    def filtered(self, core: Any, lab: Lab) -> Iterator[tuple[str, Any]]:
        """The core with filters that suit the goal, by name; each is made when it is asked for."""
        ...

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        """Choose a candidate."""
        ...

    def frontiers(self, candidates: Mapping[str, Candidate]) -> dict[str, Any]:
        """What is shown of filters and controllers at other settings: calibrations by name."""
        ...


class TrainableGoal(Goal, Protocol):
    """A goal that a controller can be trained for."""

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        """The policy at the setting that suits the goal."""
        ...

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        """Which of several controllers suits the goal best."""
        ...


@dataclass(frozen=True)
class BudgetGoal:
    """Switch in at most this share of the steps, on average, and keep rules of switching."""

    budget: float
    rules: Switching | None = None

    @property
    def dwells(self) -> bool:
        """Whether every policy must hold its actions for a while, so that the core alone is out."""
        return self.rules is not None and self.rules.dwell > 1

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        if self.dwells:
            return None
        return keep_core(stakes, self.budget) if stakes.meets(stakes.core, self.budget) else None

    def filtered(self, core: Policy, lab: Lab) -> Iterator[tuple[str, Policy]]:
        if self.dwells:
            yield "dwell", ruled(core, self.rules)
        if has_scores(core):
            yield "hysteresis", self.adjusted(core, "hysteresis", lab)

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        policy = ruled(policy, self.rules)
        # the paper's inertia has no dial: hysteresis around it meets the budget
        policy = policy if policy.calibration is not None else lab.calibrated(policy, name)
        return lab.closest(policy, name, self.budget)

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        return lab.best_at_budget([ruled(p, self.rules) for p in policies], self.budget)

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        if self.dwells:
            return decide_within(candidates, None, stakes, self.budget, self.rules)
        return decide(candidates, self.budget, stakes)

    def frontiers(self, candidates: Mapping[str, Candidate]) -> dict[str, Any]:
        return calibrations(candidates)


@dataclass(frozen=True)
class LimitGoal:
    """Keep a limit on switching, always, and rules of switching."""

    limit: Limit
    rules: Switching | None = None

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        return None  # what the core did in some episodes does not bind it in others

    def filtered(self, core: Policy, lab: Lab) -> Iterator[tuple[str, Policy]]:
        yield "filter", self.adjusted(core, "filter", lab)
        if has_scores(core):
            yield "hysteresis", self.adjusted(core, "hysteresis", lab)

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        limited = ruled(policy, self.rules).within(self.limit)
        plans = policy.largest_burst is not None
        if name == "filter" or plans:
            return limited
        return best_setting(lab.calibrated(limited, name))  # its threshold is best inside the limit

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        return lab.best_within([ruled(p, self.rules) for p in policies], self.limit)

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        return decide_within(candidates, self.limit, stakes, rules=self.rules)

    def frontiers(self, candidates: Mapping[str, Candidate]) -> dict[str, Any]:
        return calibrations(candidates)  # hysteresis keeps the limit at every threshold


def calibrations(candidates: Mapping[str, Candidate]) -> dict[str, Any]:
    """The calibrations of those candidates that have one, by name."""
    tables = {name: candidate.policy.calibration for name, candidate in candidates.items()}
    return {name: table for name, table in tables.items() if table is not None}


def ruled(policy: Policy, rules: Switching | None) -> Policy:
    """The policy with these rules; what was measured without them is left out."""
    if rules is None:
        return policy
    changes = {"calibration": None} if rules.dwell > 1 else {}
    return policy.replace(switching=rules, **changes)


def has_scores(policy: Policy) -> bool:
    """Whether a core has scores that hysteresis can compare."""
    spaces: Any = policy.spaces
    return spaces.core.kind != "action"
