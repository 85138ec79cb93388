"""Measure a policy with continuous actions at every setting of its filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from policy_inertia.envs.making import EnvLike, name_of
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import MOST_ENVS, evaluate
from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.filter_curve import FilterCurve, FilterPoint
from policy_inertia.metrics.measures import FLUCTUATION, MEASURES
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.seeds import Stream, stream_seed


def calibrate_filter(
    core: ContinuousCore,
    env: EnvLike,
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
        env: A Gymnasium id, or a function that makes an env.
        episodes: Number of episodes at each setting.
        seed: Seed of the calibration.
        settings: Settings to measure, from loose to smooth; None for those of the filter.
        env_kwargs: Arguments of the env.
        progress: Called with the number of finished and of all settings.

    Returns:
        The same policy with its `curve`.

    Raises:
        InputError: The policy has no filter, or there are no episodes.
    """
    name, rule = core.setting_name, core.rule
    assert rule is not None, "it has a setting"
    if episodes < 1:
        raise InputError(f"episodes is {episodes}: measure at least one")
    values = rule.settings() if settings is None else list(settings)
    first = stream_seed(seed, Stream.CALIBRATION)
    envs = Envs(env, min(episodes, MOST_ENVS), lambda i, k: 0, env_kwargs)
    try:
        points = []
        for done, setting in enumerate(values):
            points.append(_point(core.with_setting(setting), setting, envs, episodes, first))
            if progress is not None:
                progress(done + 1, len(values))
    finally:
        envs.close()
    curve = FilterCurve(rule_table.to_dict(rule), name, name_of(env), episodes, seed, tuple(points))
    return core.calibrated(curve)


def _point(
    core: ContinuousCore, setting: float, envs: Envs, episodes: int, seed: int
) -> FilterPoint:
    evaluation = evaluate(core, envs, episodes, seed, deterministic=True)
    moved = FLUCTUATION.values(evaluation)
    if moved is None:
        raise InputError(
            "an episode has a single step, so its movement is not known: give an env whose "
            "episodes are longer"
        )
    figures = evaluation.summary()
    known = {name: figures[name] for name in MEASURES}
    return FilterPoint(setting, known, upper_bound(moved))
