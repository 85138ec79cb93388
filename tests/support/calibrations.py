"""Calibrations and dials with numbers chosen by the test."""

import numpy as np

from policy_inertia import Policy
from policy_inertia.metrics.calibration_table import Calibration, Row


def row(
    setting: float,
    oscillation: float,
    return_: float = 0.0,
    bound: float | None = None,
    mode: str = "",
) -> Row:
    """A setting on a task that does not report crashes."""
    figures: dict[str, float | None] = {
        "return": return_,
        "oscillation_ratio": oscillation,
        "termination_rate": 0.0,
        "crash_rate": None,
    }
    return Row(setting, figures, bound, mode)


def calibration(*oscillations: float) -> Calibration:
    """A dial with these oscillation ratios at the prices 0, 0.5, 1, ..."""
    rows = [row(0.5 * i, x, 10.0 - i) for i, x in enumerate(oscillations)]
    return Calibration("price", "Task", 20, 0, tuple(rows))


def reaching(policy: Policy, largest: float) -> Policy:
    """The dial with another largest price."""
    controller = policy.params.controller
    dial = controller.dial._replace(largest=np.float32(largest))
    controller = controller._replace(dial=dial)
    return policy.replace(params=policy.params._replace(controller=controller))
