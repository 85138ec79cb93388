"""What a policy shall become: within a budget of oscillation, or within a limit on switching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.budget import best_setting, closest_to_budget
from policy_inertia.calibration.sweep import refine
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.policies.policy import Policy
from policy_inertia.smoothing.lab import Lab
from policy_inertia.smoothing.verdict import (
    Candidate,
    Stakes,
    Verdict,
    decide,
    decide_within,
    keep_core,
    meets,
)


class Goal(Protocol):
    """What `smooth` asks of a budget or a limit."""

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        """The verdict if the bare core is good enough; None if it is not."""
        ...

    def filters(self, has_scores: bool) -> tuple[str, ...]:
        """The filters to try, by name; hysteresis needs a core with scores."""
        ...

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        """The policy at the setting that suits the goal."""
        ...

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        """Which of several controllers suits the goal best."""
        ...

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        """Choose a candidate."""
        ...

    def frontier(self, policy: Policy) -> Calibration | None:
        """What is shown of a policy at other settings."""
        ...


@dataclass(frozen=True)
class BudgetGoal:
    """Switch in at most this share of the steps, on average."""

    budget: float

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        return keep_core(stakes, self.budget) if meets(stakes.core, self.budget) else None

    def filters(self, has_scores: bool) -> tuple[str, ...]:
        return ("hysteresis",) if has_scores else ()

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        # the paper's inertia has no dial: hysteresis around it meets the budget
        policy = policy if policy.calibration is not None else lab.calibrated(policy, name)
        return closest_to_budget(refine(policy, lab.envs, self.budget), self.budget)

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        return lab.best_at_budget(policies, self.budget)

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        return decide(candidates, self.budget, stakes)

    def frontier(self, policy: Policy) -> Calibration | None:
        return policy.calibration


@dataclass(frozen=True)
class LimitGoal:
    """Keep a limit on switching, always."""

    limit: Limit

    def core_verdict(self, stakes: Stakes) -> Verdict | None:
        return None  # what the core did in some episodes does not bind it in others

    def filters(self, has_scores: bool) -> tuple[str, ...]:
        return ("filter", "hysteresis") if has_scores else ("filter",)

    def adjusted(self, policy: Policy, name: str, lab: Lab) -> Policy:
        limited, plans = policy.within(self.limit), policy.largest_burst is not None
        if name == "filter" or plans:
            return limited
        return best_setting(lab.calibrated(limited, name))  # its threshold is best inside the limit

    def best(self, policies: Sequence[Policy], lab: Lab) -> int:
        return lab.best_within(policies, self.limit)

    def decide(self, candidates: dict[str, Candidate], stakes: Stakes) -> Verdict:
        return decide_within(candidates, self.limit, stakes)

    def frontier(self, policy: Policy) -> Calibration | None:
        return None  # the limit is kept at every setting
