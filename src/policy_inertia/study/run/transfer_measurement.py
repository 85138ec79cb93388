"""`smooth` around a core with Discrete actions, at several budgets of oscillation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policy_inertia.calibration.measurements import Episodes, opened
from policy_inertia.metrics.measures import OSCILLATION, RETURN
from policy_inertia.policies.core_loaders import load_core
from policy_inertia.policies.core_policy import core_policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.policies.random_actions import RandomActions
from policy_inertia.seeds import Stream
from policy_inertia.smoothing.smooth import smooth
from policy_inertia.study.core_plan import LOSS, Cell

MEASURED = (RETURN.name, OSCILLATION.name, "length", "crash_rate")


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
        The budgets, the figures of the core and of random actions, and by budget the figures of
        hysteresis and the controller, and the name of the policy that `smooth` recommends.
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
                resume=True,
                env_kwargs=kwargs,
                calibration_episodes=cell.calibration_episodes,
            )
            levels[share] = {
                name: _figures(candidate.policy, fresh)
                for name, candidate in result.candidates.items()
                if name != "core"
            }
            levels[share]["recommended"] = result.recommended
    return {"budgets": budgets, **figures, "policies": levels}


def _figures(policy: Predictor, episodes: Episodes) -> dict[str, float]:
    summary = episodes.run(policy).summary()
    return {name: float(f"{summary[name]:.6g}") for name in MEASURED if summary[name] is not None}
