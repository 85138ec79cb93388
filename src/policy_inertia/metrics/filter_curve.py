"""The whole curve of a filter: what a policy does at each setting, and which one keeps a budget."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.metrics.measures import Figures
from policy_inertia.metrics.setting_rows import loosest_within, table_text
from policy_inertia.schema import read_as


@dataclass(frozen=True)
class FilterRow:
    """One setting, and the figures of its episodes.

    Attributes:
        setting: The setting.
        figures: Numbers by the name of the measure.
        fluctuation_bound: One-sided upper 95% bound of the action fluctuation: the smallest budget
            that this setting keeps.
    """

    setting: float
    figures: Figures
    fluctuation_bound: float


@dataclass(frozen=True)
class FilterCurve:
    """The figures of the same episodes at each setting of a filter.

    Attributes:
        filter: The filter as JSON; its adjustable setting is that of the policy when it was
            calibrated.
        setting_name: Which setting was swept.
        task: Name of the env.
        episodes: Number of episodes at each setting.
        seed: Seed of the calibration.
        rows: One for each setting, from the loosest to the smoothest.
    """

    filter: dict[str, Any]
    setting_name: str
    task: str
    episodes: int
    seed: int
    rows: tuple[FilterRow, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError("the curve has no rows: calibrate the filter again")

    def within(self, max_fluctuation: float) -> FilterRow:
        """Return the loosest setting from which on the action fluctuation keeps the budget.

        It is kept if the upper bound of the fluctuation is within it, so that other episodes keep
        it too. This is a measured mean; a limit on movement is always kept.

        Raises:
            InputError: The budget is no share of the range, or no setting keeps it.
        """
        check_fluctuation(max_fluctuation)
        loosest = loosest_within(self.rows, lambda row: row.fluctuation_bound, max_fluctuation)
        if loosest is None:
            high, low = self.rows[0].fluctuation_bound, self.rows[-1].fluctuation_bound
            raise InputError(
                f"an action fluctuation of {max_fluctuation:g} is not reachable: with its "
                f"{self.setting_name}, this filter goes from {high:.4f} down to {low:.4f} on "
                f"{self.task}, so give a larger budget or another filter"
            )
        return loosest

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> FilterCurve:
        """Return the curve that `to_dict` wrote.

        Raises:
            InputError: A value is missing or wrong.
        """
        return read_as(FilterCurve, values)

    def __str__(self) -> str:
        return table_text(self.setting_name, self.rows)


def check_fluctuation(budget: float) -> None:
    """Raise an `InputError` unless the budget is a possible action fluctuation."""
    if not 0 <= budget <= 1:
        raise InputError(
            f"the budget is {budget}: give a share of the range per step, such as 0.05"
        )
