"""A calibration: what a policy does at each setting, and which setting keeps a budget.

A policy holds its calibration. `calibration/sweep.py` measures one; nothing here knows policies or
envs.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from policy_inertia.errors import InputError
from policy_inertia.metrics.measures import (
    MEASURES,
    RETURN,
    Figures,
    refuse_incomplete,
)
from policy_inertia.metrics.setting_rows import loosest_within, table_text
from policy_inertia.schema import read_as


@dataclass(frozen=True)
class Row:
    """One setting, and the figures of its episodes.

    Attributes:
        setting: The setting.
        figures: Numbers by the name of the measure.
        oscillation_bound: One-sided upper 95% bound of the oscillation ratio; None if unknown.
        mode: How the policy acts (`policy.mode`); empty if it has one mode only.
        measure: The measure of which there is a budget: the oscillation ratio, or the action
            fluctuation of Box actions.
    """

    setting: float
    figures: Figures
    oscillation_bound: float | None = None
    mode: str = ""
    measure: Literal["oscillation_ratio", "action_fluctuation"] = "oscillation_ratio"

    def __post_init__(self) -> None:
        needed = (RETURN, MEASURES[self.measure])
        refuse_incomplete(self.figures, f"the row of {self.setting:g}", needed)

    @property
    def oscillation_ratio(self) -> float:
        """The oscillation ratio, or the action fluctuation of Box actions."""
        ratio = self.figures[self.measure]
        assert ratio is not None, "every evaluation has an oscillation ratio"
        return ratio

    @property
    def smallest_budget(self) -> float:
        """The smallest budget that this row keeps: the bound, or the mean without one."""
        bound = self.oscillation_bound
        return self.oscillation_ratio if bound is None else bound


@dataclass(frozen=True)
class Calibration:
    """The figures of the same greedy episodes at each setting of a policy.

    Attributes:
        setting_name: "price" for a dial, "rate" for limits, "threshold" for hysteresis.
        task: Name of the env.
        episodes: Number of episodes at each setting.
        seed: Seed of the calibration.
        rows: One row per setting, from the loosest to the smoothest.
        measured: How many settings were measured for these rows, those of other modes included;
            None if unknown.
    """

    setting_name: str
    task: str
    episodes: int
    seed: int
    rows: tuple[Row, ...]
    measured: int | None = None

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError("the calibration has no rows: calibrate the policy again")

    @property
    def trials(self) -> int:
        """How many settings were measured; where that is unknown, the number of rows."""
        return len(self.rows) if self.measured is None else self.measured

    def within(self, max_oscillation: float) -> Row:
        """Return the loosest setting from which on the oscillation ratio keeps the budget.

        It is kept if the upper bound of the ratio is within it, so that other episodes keep it too.

        Raises:
            InputError: The budget is not a ratio, or no setting keeps it.
        """
        check_budget(max_oscillation)
        loosest = loosest_within(self.rows, lambda row: row.smallest_budget, max_oscillation)
        if loosest is None:
            high, low = self.rows[0].oscillation_ratio, _rounded_up(self.rows[-1].smallest_budget)
            label = MEASURES[self.rows[0].measure].label
            raise InputError(
                f"an {label} of {max_oscillation:g} is not reachable: with its "
                f"{self.setting_name}, this policy goes from {high:.3f} down to {low} on "
                f"{self.task}, so give at least {low}, or train longer or with another method"
            )
        return loosest

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Calibration:
        """Return the calibration that `to_dict` wrote.

        Raises:
            InputError: A value is missing or wrong.
        """
        return read_as(Calibration, values)

    def __str__(self) -> str:
        return table_text(self.setting_name, self.rows)


def _rounded_up(ratio: float) -> str:
    """A ratio with three decimals, or more if it is small; never below the ratio itself."""
    if not 0 < ratio <= 1:
        return f"{ratio:.3f}"
    decimals = min(max(3, 1 - math.floor(math.log10(ratio))), 12)
    return f"{math.ceil(round(ratio * 10**decimals, 6)) / 10**decimals:.{decimals}f}"


def check_budget(budget: float) -> None:
    """Raise an `InputError` unless the budget is a possible oscillation ratio."""
    if not 0 <= budget <= 1:
        raise InputError(
            f"the budget is {budget}: an oscillation ratio lies from 0 to 1, so give switches per "
            "step, such as 0.1"
        )
