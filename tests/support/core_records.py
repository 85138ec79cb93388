"""Records of cores with figures that a test chooses."""

from typing import Any

from policy_inertia.study.core_records import CoreRecord


def core_record(seed: int, core: float, random: float, **measured: Any) -> CoreRecord:
    """A record whose core and random actions have these returns."""
    both = {
        name: {
            "return": value,
            "action_fluctuation": 0.2,
            "oscillation_ratio": 0.5,
            "jerk": 0.4,
            "length": 100.0,
        }
        for name, value in (("core", core), ("random", random))
    }
    return CoreRecord({"seed": seed}, {}, None, {}, {**both, **measured})


def moved(return_: float, fluctuation: float) -> dict[str, float]:
    """The figures of a filter."""
    return {
        "setting": 0.5,
        "return": return_,
        "action_fluctuation": fluctuation,
        "jerk": fluctuation,
        "length": 50.0,
    }


def switched(return_: float, oscillation: float, at_level: float | None = None) -> dict[str, float]:
    """The figures of a policy with Discrete actions; old records have no return at a level."""
    matched = {} if at_level is None else {"return_at_level": at_level}
    return {"return": return_, "oscillation_ratio": oscillation, **matched}
