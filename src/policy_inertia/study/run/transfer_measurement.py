"""`smooth` around a core with Discrete actions, at several budgets of oscillation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from policy_inertia.calibration.budget import closest_row
from policy_inertia.calibration.matched import return_at, rows_beside
from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.metrics.calibration_table import Row
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.policies.core_loaders import load_core
from policy_inertia.policies.core_policy import core_policy
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.policies.random_actions import RandomActions
from policy_inertia.seeds import Stream
from policy_inertia.smoothing.measured import Measured
from policy_inertia.smoothing.smooth import smooth
from policy_inertia.smoothing.smooth_folder import ABOUT
from policy_inertia.study.core_plan import LOSS, Cell
from policy_inertia.types import Tree

MEASURED = (RETURN.name, OSCILLATION.name, "length", "crash_rate")
AXES = (OSCILLATION.name, RETURN.name)


def measure_transfer(core: Path, cell: Cell, seed: int, folder: Path) -> dict[str, Any]:
    """Run `smooth` at every budget, and evaluate what it compared on fresh episodes.

    The budgets are shares of the core's own oscillation ratio, measured on the episodes of
    calibration. The controller is trained once: its training does not depend on the budget. The
    fresh episodes have no part in the verdict of `smooth`.

    Args:
        core: File of the core.
        cell: The cell.
        seed: Seed of the controller and of all episodes.
        folder: Folder of the controller; its training goes on after a kill.

    Returns:
        The budgets, the figures of the core and of random actions, and by budget what `at_budget`
        returns and the name of the policy that `smooth` recommends.
    """
    env, kwargs = cell.core.env, cell.core.env_kwargs
    bare = core_policy(load_core(core, env, env_kwargs=kwargs), env, kwargs)
    with opened(env, cell.calibration_episodes, kwargs) as envs:
        fresh = Episodes(envs, cell.episodes, seed, Stream.FINAL)
        own = _figures(bare, Episodes(envs, cell.calibration_episodes, seed))[OSCILLATION.name]
        budgets = {repr(share): share * own for share in cell.budgets}
        figures = {
            "core": _figures(bare, fresh),
            "random": _figures(RandomActions(envs.spaces.actions, bare.masked), fresh),
        }
        levels: dict[str, dict[str, Any]] = {}
        measured, rows = Measured(), FreshRows(fresh)
        for share, budget in budgets.items():
            result = smooth(
                core,
                env,
                budget,
                cell.steps,
                train=True,
                loss=LOSS,
                episodes=cell.episodes,
                seed=seed,
                out=folder,
                resume=(folder / ABOUT).exists(),
                env_kwargs=kwargs,
                measured=measured,
                calibration_episodes=cell.calibration_episodes,
            )
            curves = {
                name: FreshCurve(candidate.policy, budget, rows)
                for name, candidate in result.candidates.items()
                if name != "core"
            }
            levels[share] = at_budget(curves, budget)
            levels[share]["recommended"] = result.recommended
    return {"budgets": budgets, **figures, "policies": levels}


class FreshRows:
    """Measures policies on fresh episodes, the same one at the same setting once."""

    def __init__(self, episodes: Episodes) -> None:
        self.episodes = episodes
        self._rows: dict[Hashable, Row] = {}

    def __call__(self, policy: Policy, row: Row) -> Row:
        """Measure a policy at the setting of a row of its calibration."""
        policy = policy.at_row(row)
        key = (policy.mode, policy.setting_name, row.setting, _digest(policy.params))
        if key not in self._rows:
            self._rows[key] = self.episodes.row(policy, row.setting)
        return self._rows[key]


class FreshCurve:
    """A calibrated policy on fresh episodes, measured only where it is asked for.

    Args:
        policy: The policy.
        budget: The budget that its setting was chosen for.
        measure: From a policy and a row of its calibration to the row on fresh episodes.
    """

    def __init__(
        self, policy: Policy, budget: float, measure: Callable[[Policy, Row], Row]
    ) -> None:
        assert policy.calibration is not None, "`smooth` calibrates what it adjusts"
        self.rows, self.measure = policy.calibration.rows, partial(measure, policy)
        self.start = self.rows.index(closest_row(policy.calibration, budget))

    @property
    def chosen(self) -> Row:
        """The row of the chosen setting."""
        return self.measure(self.rows[self.start])

    def around(self, level: float) -> list[Row]:
        """The rows around an oscillation ratio."""
        return rows_beside(self.rows, self.measure, self.start, level)


def at_budget(curves: Mapping[str, FreshCurve], budget: float) -> dict[str, Any]:
    """Measure policies at the settings that were chosen, and at one common oscillation ratio.

    Returns:
        `level`, the ratio at which the policies are compared: the budget, or the lowest ratio that
        all of them come down to if that is higher. By name of the policy: the figures at the chosen
        setting, the return at the level, and the rows that were measured for it.
    """
    lowest = [curve.around(budget)[-1].oscillation_ratio for curve in curves.values()]
    level = max(budget, *lowest)
    figures: dict[str, Any] = {"level": level}
    for name, curve in curves.items():
        rows = curve.around(level)
        figures[name] = {
            **_known(curve.chosen.figures),
            "return_at_level": _rounded(return_at(rows, level)),
            "rows": [
                {"setting": _rounded(row.setting), **_known(row.figures, AXES)} for row in rows
            ],
        }
    return figures


def _figures(policy: Predictor, episodes: Episodes) -> dict[str, float]:
    return _known(episodes.run(policy).summary())


def _known(figures: Mapping[str, Any], names: Sequence[str] = MEASURED) -> dict[str, float]:
    values = {name: figures.get(name) for name in names}
    return {name: _rounded(value) for name, value in values.items() if value is not None}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _digest(params: Tree) -> bytes:
    """What tells the parameters of one controller from those of another."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(params):
        digest.update(np.asarray(leaf).tobytes())
    return digest.digest()
