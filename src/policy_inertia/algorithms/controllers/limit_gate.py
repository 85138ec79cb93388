"""The gate that plans with a limit on switching: repeat the last action, or follow the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from policy_inertia.algorithms.controllers.gate import gate_choice
from policy_inertia.algorithms.controllers.token_planner import LimitConfig
from policy_inertia.algorithms.controllers.valued import Choice


@dataclass(frozen=True)
class LimitGateConfig(LimitConfig):
    """Settings of a gate that plans with a limit."""

    rule: ClassVar[str] = "plan-gate"

    @property
    def choice(self) -> Choice:
        return gate_choice
