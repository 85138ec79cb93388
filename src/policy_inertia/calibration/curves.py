"""The dials of one policy, each as a curve of return against oscillation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policy_inertia.calibration.sweep import calibrate
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.policies.core_policy import label_of
from policy_inertia.policies.policy import Policy


@dataclass(frozen=True)
class Curve:
    """One dial of a policy.

    Attributes:
        label: Its name in tables and plots.
        mode: How the policy acts; empty if it has one mode only.
        table: Its calibration.
    """

    label: str
    mode: str
    table: Calibration


def curves(
    policy: Policy,
    env: str,
    episodes: int,
    seed: int,
    env_kwargs: dict[str, Any],
    again: bool = False,
    watch: Callable[[str], None] | None = None,
) -> list[Curve]:
    """Return a policy's own dial, if it has one, and the hysteresis filter on its core.

    Args:
        policy: The policy.
        env: Where to measure.
        episodes: Number of episodes at each setting that is measured.
        seed: Seed of those episodes.
        env_kwargs: The env's arguments.
        again: Measure the policy even if it has a calibration.
        watch: Called with a label before its curve is measured.
    """
    core = policy.core()
    dials = {f"hysteresis on {label_of(core)}": core}
    if policy.traits.adjustable:
        dials = {policy.method: policy, **dials}
    measured = []
    for label, dial in dials.items():
        if dial.calibration is None or again:
            if watch is not None:
                watch(label)
            dial = calibrate(dial, env, episodes, seed, env_kwargs=env_kwargs)
        assert dial.calibration is not None
        measured.append(Curve(label, dial.mode, dial.calibration))
    return measured
