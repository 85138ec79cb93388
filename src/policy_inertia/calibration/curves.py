"""The dials of one policy, each as a curve of return against oscillation or movement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.calibration.filter_sweep import calibrate_filter
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.metrics.measures import FLUCTUATION, OSCILLATION, Measure
from policy_inertia.policies.action_filters.rule_table import FILTERS
from policy_inertia.policies.continuous import ContinuousCore
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
    table: Calibration | FilterCurve


@dataclass(frozen=True)
class DialKind:
    """What is measured of policies with one kind of actions.

    Attributes:
        against: The measure that a dial changes.
        table: The calibration that a policy has; None if it has none.
        calibrate: Measures it: `calibrate` or `calibrate_filter`.
        dials: From a policy to the policies to measure, by label.
        mode: How a policy acts; empty if it has one mode only.
    """

    against: Measure
    table: Callable[[Any], Calibration | FilterCurve | None]
    calibrate: Callable[..., Any]
    dials: Callable[[Any], dict[str, Any]]
    mode: Callable[[Any], str] = lambda policy: ""


def dial_kind(policy: Policy | ContinuousCore) -> DialKind:
    """The row of a policy's kind of actions."""
    actions: Any = policy.spaces.actions
    return DIAL_KINDS[actions.kind]


def calibrated(policy: Any, env: Any, env_kwargs: dict[str, Any]) -> Any:
    """The policy with its calibration, which is measured if it has none."""
    kind = dial_kind(policy)
    if kind.table(policy) is not None:
        return policy
    return kind.calibrate(policy, env, env_kwargs=env_kwargs)


def curves(
    policy: Policy | ContinuousCore,
    env: str,
    episodes: int,
    seed: int,
    env_kwargs: dict[str, Any],
    again: bool = False,
    watch: Callable[[str], None] | None = None,
) -> list[Curve]:
    """Return a policy's own dial, if it has one, and the hysteresis filter on its core.

    For continuous actions, return the curve of its filter, or of every filter if it has none.

    Args:
        policy: The policy.
        env: Where to measure.
        episodes: Number of episodes at each setting that is measured.
        seed: Seed of those episodes.
        env_kwargs: The env's arguments.
        again: Measure the policy even if it has a calibration.
        watch: Called with a label before its curve is measured.
    """
    kind, measured = dial_kind(policy), []
    for label, dial in kind.dials(policy).items():
        if kind.table(dial) is None or again:
            if watch is not None:
                watch(label)
            dial = kind.calibrate(dial, env, episodes, seed, env_kwargs=env_kwargs)
        table = kind.table(dial)
        assert table is not None
        measured.append(Curve(label, kind.mode(dial), table))
    return measured


def _discrete_dials(policy: Policy) -> dict[str, Policy]:
    core = policy.core()
    dials = {f"hysteresis on {label_of(core)}": core}
    return {policy.method: policy, **dials} if policy.traits.adjustable else dials


def _filters(policy: Policy | ContinuousCore) -> dict[str, ContinuousCore]:
    if isinstance(policy, ContinuousCore) and policy.rule is not None:
        return {policy.rule.name: policy}
    return {rule.name: policy.with_filter(rule) for rule in FILTERS}


_SWITCHING = DialKind(
    OSCILLATION, lambda p: p.calibration, calibrate, _discrete_dials, lambda p: p.mode
)


def _box_dials(policy: Policy | ContinuousCore) -> dict[str, Any]:
    """A dial of Box actions and the filters around its core; else the filters alone."""
    if not isinstance(policy, Policy) or not policy.traits.dial:
        return _filters(policy)
    return {policy.method: policy, **_filters(policy.core())}


def _box_table(policy: Policy | ContinuousCore) -> Calibration | FilterCurve | None:
    return policy.calibration if isinstance(policy, Policy) else policy.curve


def _calibrate_box(policy: Policy | ContinuousCore, *args: Any, **kwargs: Any) -> Any:
    """Measure the prices of a dial, or the settings of a filter."""
    measure: Any = calibrate if isinstance(policy, Policy) else calibrate_filter
    return measure(policy, *args, **kwargs)


def _box_mode(policy: Policy | ContinuousCore) -> str:
    return policy.mode if isinstance(policy, Policy) else ""


DIAL_KINDS: dict[str, DialKind] = {
    Discrete.kind: _SWITCHING,
    MultiDiscrete.kind: _SWITCHING,
    Box.kind: DialKind(FLUCTUATION, _box_table, _calibrate_box, _box_dials, _box_mode),
}
"""By the kind of actions."""
