"""Every filter around a core with continuous actions, at several budgets of movement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policy_inertia.calibration.all_filters import RULES, wide_settings
from policy_inertia.calibration.filter_sweep import calibrate_filter, refine_filter
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.metrics.measures import FLUCTUATION, RETURN, Evaluation
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_loaders import load_core
from policy_inertia.policies.random_actions import RandomActions
from policy_inertia.seeds import Stream
from policy_inertia.study.core_plan import Cell

MEASURED = (RETURN.name, FLUCTUATION.name, "jerk", "length")


def measure_filters(core: Path, cell: Cell, seed: int, folder: Path) -> dict[str, Any]:
    """Calibrate every filter to every budget, and evaluate it on held-out episodes.

    The budgets are shares of the core's own action fluctuation, measured on the episodes of
    calibration.

    Args:
        core: File of the core.
        cell: The cell.
        seed: Seed of all episodes.
        folder: Not needed.

    Returns:
        The budgets; the figures of the core, of random actions, and of each filter by budget; and
        each filter's curve on the episodes of calibration.
    """
    del folder
    env, kwargs = cell.core.env, cell.core.env_kwargs
    bare = load_core(core, env, env_kwargs=kwargs)
    with opened(env, cell.calibration_episodes, kwargs) as envs:  # more envs would often be idle
        calibration = Episodes(envs, cell.calibration_episodes, seed)
        held_out = Episodes(envs, cell.episodes, seed, Stream.HELD_OUT)
        own = _figures(calibration.run(bare))[FLUCTUATION.name]
        budgets = {repr(share): share * own for share in cell.budgets}
        filters, curves = {}, {}
        for name, rule in RULES.items():
            policy = _calibrated(bare.with_filter(rule), envs, cell, seed)
            for budget in budgets.values():
                policy = refine_filter(policy, envs, budget)
            filters[name] = {
                share: _at_budget(policy, budget, held_out) for share, budget in budgets.items()
            }
            assert policy.curve is not None
            curves[name] = _columns(policy.curve)
        return {
            "budgets": budgets,
            "core": _figures(held_out.run(bare)),
            "random": _figures(held_out.run(RandomActions(envs.spaces.actions))),
            "filters": filters,
            "curves": curves,
        }


def _calibrated(policy: ContinuousCore, envs: Envs, cell: Cell, seed: int) -> ContinuousCore:
    assert policy.rule is not None
    settings = wide_settings(policy.rule)
    return calibrate_filter(policy, envs, cell.calibration_episodes, seed, settings)


def _at_budget(policy: ContinuousCore, budget: float, episodes: Episodes) -> dict[str, Any]:
    """The figures at a budget, or why it is not reached."""
    try:
        within = policy.with_budget(budget)
    except InputError as error:
        return {"unreachable": str(error)}
    return {"setting": _rounded(within.setting), **_figures(episodes.run(within))}


def _figures(evaluation: Evaluation) -> dict[str, float]:
    summary = evaluation.summary()
    return {name: _rounded(summary[name]) for name in MEASURED}


def _columns(curve: FilterCurve) -> dict[str, list[float]]:
    names = (RETURN.name, FLUCTUATION.name)
    columns = {name: [_rounded(row.figures[name]) for row in curve.rows] for name in names}
    return {"setting": [_rounded(row.setting) for row in curve.rows], **columns}


def _rounded(value: float | None) -> float:
    assert value is not None, "every episode has the figure"
    return float(f"{value:.6g}")
