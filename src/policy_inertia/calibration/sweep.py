"""Measuring a dial: the same episodes at every setting, on seeds that nothing else uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from policy_inertia.algorithms.controllers.prices import DECADES
from policy_inertia.envs.vector import EnvLike, Envs, episode_seed
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.types import Array

CALIBRATION = 3  # a stream of episode seeds beside training's, evaluation's and the final one's
SETTINGS = 16  # at first: as many again go where the oscillation ratio changes most
FINE = 0.02  # between neighbours; noise is as large
FROZEN = 0.01  # the knob is turned on until the policy switches this rarely


def calibrate(
    policy: Policy,
    env: EnvLike | Envs,
    episodes: int = 50,
    seed: int = 0,
    settings: Sequence[float] | None = None,
    env_kwargs: dict[str, Any] | None = None,
) -> Policy:
    """`policy` with a table of what it does at each setting of its dial.

    The settings of a dial are prices; of any other policy thresholds of hysteresis, which need no
    training. They go up to where it hardly ever switches; where the oscillation ratio differs by
    more than 0.02 from one to the next, more go in between. Every setting gets the same episodes,
    with greedy actions. Where there are several ways to act (`policy.modes()`), the one with the
    highest mean return over the first settings is kept.
    """
    if policy.repeats != (1,):
        raise InputError(
            f"{policy.method} holds its actions by itself: calibrate a method that decides at "
            "every step"
        )
    if isinstance(env, Envs):
        slots = env
    else:
        slots = Envs(env, min(episodes, 20), lambda i, k: 0, env_kwargs)
    first = episode_seed(seed, CALIBRATION)

    def run(predictor: Any) -> dict[str, Any]:
        return evaluate(predictor, slots, episodes, first, deterministic=True).summary()

    def row(setting: float, policy: Policy) -> Row:
        figures = run(policy.with_setting(setting))
        names = ("oscillation_ratio", "return", "crash_rate", "termination_rate", "length")
        return Row(setting, *(figures[name] for name in names))

    try:
        given = sorted(settings) if settings is not None else _first(policy, run)
        tried = [([row(x, each) for x in given], each) for each in policy.modes()]
        rows, policy = max(tried, key=lambda one: sum(r.mean_return for r in one[0]))
        if settings is None:
            while rows[-1].oscillation_ratio > FROZEN and rows[-1].setting > 0:
                if len(rows) == 2 * SETTINGS:
                    break
                rows.append(row(2 * rows[-1].setting, policy))  # beyond those: feel the way
            rows = _refined(rows, lambda setting: row(setting, policy))
    finally:
        if slots is not env:
            slots.close()
    table = Calibration(policy.setting_name, slots.name, episodes, seed, tuple(rows))
    return policy.replace(calibration=table)


def _first(policy: Policy, run: Callable[[Any], Any]) -> list[float]:
    """0, and a dial's prices spread evenly in their logarithm over the range that is learned, or
    what thresholds of hysteresis a policy's gaps suggest."""
    if policy.largest_price is None:
        gaps = _Gaps(policy)
        run(gaps)
        return gaps.thresholds()
    spread = np.logspace(-DECADES, 0, SETTINGS - 1)
    return [0.0, *(policy.largest_price * spread).tolist()] if policy.largest_price else [0.0]


def _refined(rows: list[Row], row: Callable[[float], Row]) -> list[Row]:
    """More settings, each halfway between the two neighbours that differ most in oscillation."""
    for _ in range(SETTINGS if len(rows) > 1 else 0):
        low, high = (np.array([r.setting for r in part]) for part in (rows[:-1], rows[1:]))
        steps = np.abs(np.diff([r.oscillation_ratio for r in rows]))
        steps[low > 0.99 * high] = 0  # a cliff: there is nothing in between
        if steps.max() <= FINE:
            break
        at = int(steps.argmax())
        rows.insert(at + 1, row(float(low[at] + high[at]) / 2))
    return rows


class _Gaps:
    """The policy itself, remembering by how much its best action's score beat the others'."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy.replace(hysteresis=None)
        self.gaps: list[np.ndarray] = []

    def predict(
        self,
        observation: Array,
        state: State | None = None,
        episode_start: Array | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, State]:
        obs = self.policy.spaces.encode(observation)
        memory = self.policy.memory.at(state, len(obs), episode_start)
        previous = memory[PREVIOUS_ACTION]
        scores = self.policy.acting(obs, previous).scores
        gaps = scores.max(1, keepdims=True) - scores
        self.gaps.append(gaps[gaps > 0])
        return self.policy.predict(observation, state, episode_start, deterministic)

    def thresholds(self) -> list[float]:
        """0, and quantiles of the gaps."""
        gaps = np.concatenate(self.gaps)
        if not len(gaps):
            return [0.0]
        levels = np.linspace(0, 1, SETTINGS)[1:]
        return [0.0, *np.unique(np.quantile(gaps, levels)).tolist()]
