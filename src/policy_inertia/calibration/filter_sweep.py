"""Measure a policy with continuous actions at every setting of its filter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.envs.making import EnvLike
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.filter_curve import FilterCurve, FilterRow
from policy_inertia.metrics.measures import FLUCTUATION, MEASURES
from policy_inertia.metrics.setting_rows import loosest_within
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.protocol import Predictor

HALVINGS = 4  # of the step between two settings, for each budget
CLOSE = 0.95  # share of a budget that is close enough to it


def calibrate_filter(
    core: ContinuousCore,
    env: EnvLike | Envs | None = None,
    episodes: int = 20,
    seed: int = 0,
    settings: Sequence[float] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ContinuousCore:
    """Measure the whole curve of a policy's filter, so that `with_budget` can choose from it.

    The episodes are the same at every setting, and other ones than those of `evaluate`.

    Args:
        core: A policy with a filter.
        env: A Gymnasium id, a function that makes an env, an env (as for `evaluate`), or open
            envs. By default the task that the policy's file names.
        episodes: Number of episodes at each setting.
        seed: Seed of the calibration.
        settings: Settings to measure, from loose to smooth; None for those of the filter.
        env_kwargs: Arguments of the env.
        progress: Called with the number of finished and of all settings.

    Returns:
        The same policy with its `curve`.

    Raises:
        InputError: The policy has no filter, there are no episodes, or no task is known.
    """
    if not isinstance(core, ContinuousCore):
        raise InputError(
            f"the policy is a {type(core).__name__}: filters are for continuous actions, so give a "
            "ContinuousCore, or use calibrate for Discrete actions"
        )
    name, rule = core.setting_name, core.rule
    assert rule is not None, "it has a setting"
    if episodes < 1:
        raise InputError(f"episodes is {episodes}: measure at least one")
    if env is None:
        if not core.task:
            raise InputError("this policy does not say on which task it acts: give env")
        env, env_kwargs = core.task, env_kwargs or core.env_kwargs
    values = rule.settings() if settings is None else list(settings)
    with opened(env, episodes, env_kwargs) as envs:
        measured, rows = Episodes(envs, episodes, seed), []
        for done, setting in enumerate(values, 1):
            rows.append(measured_row(core.with_setting(setting), setting, measured))
            if progress is not None:
                progress(done, len(values))
        curve = FilterCurve(rule_table.to_dict(rule), name, envs.name, episodes, seed, tuple(rows))
    return core.calibrated(curve)


def refine_filter(
    core: ContinuousCore,
    env: EnvLike | Envs,
    budget: float,
    env_kwargs: dict[str, Any] | None = None,
) -> ContinuousCore:
    """Add settings to a filter's curve, between the one that keeps a budget and the next looser.

    Args:
        core: A policy with a calibrated filter.
        env: Where it was calibrated.
        budget: The budget, an action fluctuation.
        env_kwargs: Arguments of the env.

    Returns:
        The policy with a longer curve; the same if no setting keeps the budget, or all do.
    """
    curve = core.curve
    assert curve is not None, "only a calibrated filter can be refined"
    rows: Sequence[FilterRow] = curve.rows
    with opened(env, curve.episodes, env_kwargs) as envs:
        episodes = Episodes(envs, curve.episodes, curve.seed)
        rows = refined_rows(rows, lambda x: measured_row(core.with_setting(x), x, episodes), budget)
    return core.calibrated(replace(curve, rows=tuple(rows)))


def refined_rows(
    rows: Sequence[FilterRow], at: Callable[[float], FilterRow], budget: float
) -> list[FilterRow]:
    """The rows, and more of them between the one that keeps a budget and the next looser one.

    Args:
        rows: From the loosest to the smoothest.
        at: Measures one setting.
        budget: The budget, an action fluctuation.
    """
    rows = list(rows)
    for _ in range(HALVINGS):
        smooth = loosest_within(rows, lambda row: row.fluctuation_bound, budget)
        if smooth is None or smooth is rows[0] or smooth.fluctuation_bound > CLOSE * budget:
            break
        place = rows.index(smooth)
        rows.insert(place, at(_middle(smooth.setting, rows[place - 1].setting)))
    return rows


def _middle(a: float, b: float) -> float:
    """The geometric mean, or half of the larger one if the other is 0."""
    return math.sqrt(a * b) or (a + b) / 2


def measured_row(policy: Predictor, setting: float, episodes: Episodes) -> FilterRow:
    """The figures of a policy at one setting.

    Raises:
        InputError: An episode is too short to move in.
    """
    evaluation = episodes.run(policy)
    moved = FLUCTUATION.values(evaluation)
    if moved is None:
        raise InputError(
            "an episode has a single step, so its movement is not known: give an env whose "
            "episodes are longer"
        )
    figures = evaluation.summary()
    known = {name: figures[name] for name in MEASURES}
    return FilterRow(setting, known, upper_bound(moved))
