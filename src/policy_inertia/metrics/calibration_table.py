"""What a policy does at each setting of its dial, as a table, and what keeps a budget by it.

`policy.calibrate` measures it (sweep.py); nothing here knows of policies or envs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from policy_inertia.errors import InputError

KNOBS = ("price", "hysteresis")


@dataclass(frozen=True)
class Row:
    """One setting, and what whole episodes were like with it."""

    setting: float
    oscillation_ratio: float
    mean_return: float
    crash_rate: float | None  # None where the env does not tell
    termination_rate: float
    length: float


@dataclass(frozen=True)
class Calibration:
    """A dial's settings from the lowest to the highest, each with the same greedy episodes.

    `setting_name` says what is set: the price of switching of a dial, or hysteresis' threshold.
    """

    setting_name: str
    task: str
    episodes: int
    seed: int
    rows: tuple[Row, ...]

    def within(self, max_oscillation: float) -> Row:
        """The lowest setting from which the oscillation ratio stays within the budget."""
        if not 0 <= max_oscillation <= 1:
            raise InputError(
                f"the budget is {max_oscillation}: an oscillation ratio lies from 0 to 1, so give "
                "switches per step, such as 0.1"
            )
        found = None
        for row in reversed(self.rows):
            if not row.oscillation_ratio <= max_oscillation:
                break
            found = row
        if found is None:
            low, high = self.rows[-1].oscillation_ratio, self.rows[0].oscillation_ratio
            raise InputError(
                f"an oscillation ratio of {max_oscillation:g} is not reachable: this policy's "
                f"{self.setting_name} goes from {high:.3f} down to {low:.3f} on {self.task}: "
                f"give at least {low:.3f}, or train longer or with another method"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Calibration:
        return cls(**{**values, "rows": tuple(Row(**row) for row in values["rows"])})

    def __str__(self) -> str:
        lines = [f"{self.setting_name:>10}  oscillation  return  crashed"]
        for r in self.rows:
            crashed = "" if r.crash_rate is None else f"{r.crash_rate:7.2f}"
            lines.append(
                f"{r.setting:10.4g}  {r.oscillation_ratio:11.3f}  {r.mean_return:6.2f}  {crashed}"
            )
        return "\n".join(lines)
