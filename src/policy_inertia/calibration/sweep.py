"""Measure a policy at every setting, with the same episodes, on seeds that nothing else uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.algorithms.controllers.prices import DECADES
from policy_inertia.envs.making import EnvLike, side_by_side
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import MEASURES, RETURN
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.seeds import Stream, stream_seed

"""Stream of episode seeds; training and the other evaluations use other streams."""
SETTINGS = 16  # first settings; refinement adds at most as many again
FINE = 0.02  # refinement stops when neighbours differ by less; the noise is as large
RATES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0)  # first rates of a limit
FROZEN = 0.01  # the sweep goes on to higher settings until the oscillation ratio is this low

RowAt = Callable[[float], Row]
"""Measure the policy at one setting."""
RunEpisodes = Callable[[Predictor], dict[str, Any]]
"""Run the episodes of the calibration with a policy, and return its figures."""


def calibrate(
    policy: Policy,
    env: EnvLike | Envs | None = None,
    episodes: int = 50,
    seed: int = 0,
    settings: Sequence[float] | None = None,
    env_kwargs: dict[str, Any] | None = None,
) -> Policy:
    """Measure a policy at many settings, and return it with the table (`policy.calibration`).

    The settings of a dial are prices, those of a method that plans with limits are rates. Any other
    policy is swept over thresholds of hysteresis, so it needs no training. Every setting runs the
    same episodes, with greedy actions. Where a policy can act in several modes (`policy.modes()`),
    the mode with the highest mean return over the first settings is returned.

    Args:
        policy: The policy to measure.
        env: A Gymnasium id, a function that makes an env, an env (as for `evaluate`), or open
            envs. By default the task that the policy was trained on, with its arguments.
        episodes: Number of episodes at each setting.
        seed: Seed of the episodes.
        settings: The settings to measure. By default they go from the loosest to where the policy
            hardly ever switches, and are closer together where the oscillation ratio changes fast.
        env_kwargs: Arguments of the env.

    Raises:
        InputError: The policy holds its actions by itself, or no task is known.
    """
    if policy.repeats != (1,):
        raise InputError(
            f"{policy.method} holds its actions by itself: calibrate a method that decides at "
            "every step"
        )
    if env is None:
        if not policy.task:
            raise InputError("this policy does not say on which task it was trained: give env")
        env, env_kwargs = policy.task, env_kwargs or policy.env_kwargs
    n = min(episodes, 20)
    envs = env if isinstance(env, Envs) else Envs(env, side_by_side(env, n), _any_seed, env_kwargs)
    first_seed = stream_seed(seed, Stream.CALIBRATION)

    def measure(predictor: Predictor) -> dict[str, Any]:
        return evaluate(predictor, envs, episodes, first_seed, deterministic=True).summary()

    try:
        first = (
            FIRST_SETTINGS[policy.setting_name](policy, measure) if settings is None else settings
        )
        first = sorted(first, reverse=policy.adjustable.lower_is_smoother)
        policy, rows = _best_mode(policy, first, measure)
        if settings is None:
            at = _row_at(policy, measure)
            rows = _refined(_extended(rows, at), at)
    finally:
        if envs is not env:
            envs.close()
    table = Calibration(policy.setting_name, envs.name, episodes, seed, tuple(rows))
    return policy.replace(calibration=table)


def first_settings(
    policy: Policy, envs: Envs, episodes: int, seed: int, name: str | None = None
) -> list[float]:
    """The settings that `calibrate` measures first; those of hysteresis need episodes.

    Args:
        policy: The policy.
        envs: The envs to measure in.
        episodes: Number of episodes.
        seed: Seed of the episodes.
        name: "price", "rate" or "threshold"; by default the policy's own.
    """
    first_seed = stream_seed(seed, Stream.CALIBRATION)

    def measure(predictor: Predictor) -> dict[str, Any]:
        return evaluate(predictor, envs, episodes, first_seed, deterministic=True).summary()

    return FIRST_SETTINGS[name or policy.setting_name](policy, measure)


def _any_seed(env: int, episode: int) -> int:
    """Seed the envs until `evaluate` restarts them with its own seeds."""
    return 0


def _row_at(policy: Policy, measure: RunEpisodes) -> RowAt:
    def row_at(setting: float) -> Row:
        figures = measure(policy.with_setting(setting))
        return Row(setting, {name: figures[name] for name in MEASURES})

    return row_at


def _best_mode(
    policy: Policy, settings: Sequence[float], measure: RunEpisodes
) -> tuple[Policy, list[Row]]:
    """Measure every mode of the policy; return the one with the highest mean return."""
    sweeps = []
    for mode in policy.modes():
        at = _row_at(mode, measure)
        sweeps.append((mode, [at(setting) for setting in settings]))
    return max(sweeps, key=lambda sweep: sum(row.figures[RETURN.name] or 0 for row in sweep[1]))


def _first_prices(policy: Policy, measure: RunEpisodes) -> list[float]:
    """0, and prices spread evenly in their logarithm over the learned range."""
    spread = np.logspace(-DECADES, 0, SETTINGS - 1)
    return [0.0, *(policy.largest_price * spread).tolist()] if policy.largest_price else [0.0]


def _first_rates(policy: Policy, measure: RunEpisodes) -> list[float]:
    """From no limit to no new tokens."""
    return list(RATES)


def _first_thresholds(policy: Policy, measure: RunEpisodes) -> list[float]:
    """0, and quantiles of the gaps between the scores of the policy's actions."""
    gaps = _Gaps(policy)
    measure(gaps)
    return gaps.thresholds()


FIRST_SETTINGS: dict[str, Callable[[Policy, RunEpisodes], list[float]]] = {
    "price": _first_prices,
    "rate": _first_rates,
    "threshold": _first_thresholds,
}
"""The settings that are measured first, by their name."""


def _extended(rows: list[Row], at: RowAt) -> list[Row]:
    """Double the highest setting until the policy hardly ever switches; a rate ends at 0."""
    rows = list(rows)
    while rows[-1].oscillation_ratio > FROZEN and rows[-1].setting > 0:
        if len(rows) == 2 * SETTINGS:
            break
        rows.append(at(2 * rows[-1].setting))
    return rows


def _refined(rows: list[Row], at: RowAt) -> list[Row]:
    """Add settings halfway between the two neighbours that differ most in oscillation."""
    rows = list(rows)
    for _ in range(SETTINGS if len(rows) > 1 else 0):
        settings = np.array([row.setting for row in rows])
        low, high = np.sort([settings[:-1], settings[1:]], axis=0)
        steps = np.abs(np.diff([row.oscillation_ratio for row in rows]))
        steps[low > 0.99 * high] = 0  # a cliff: no setting in between would smooth it
        if steps.max() <= FINE:
            break
        i = int(steps.argmax())
        rows.insert(i + 1, at(float(low[i] + high[i]) / 2))
    return rows


class _Gaps:
    """The policy, recording by how much the score of its best action beats the others."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy.replace(hysteresis=None)
        self.gaps: list[np.ndarray] = []

    def predict(
        self,
        observation: ArrayLike,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, State]:
        obs = self.policy.spaces.encode(np.asarray(observation))
        memory = self.policy.memory.at(state, len(obs), episode_start)
        tokens = self.policy.tokens(memory)
        scores = self.policy.acting(obs, memory[PREVIOUS_ACTION], tokens).scores
        gaps = np.asarray(scores.max(1, keepdims=True) - scores)
        self.gaps.append(gaps[gaps > 0])
        return self.policy.predict(observation, state, episode_start, deterministic)

    def thresholds(self) -> list[float]:
        """0, and quantiles of the gaps."""
        gaps = np.concatenate(self.gaps)
        if not len(gaps):
            return [0.0]
        levels = np.linspace(0, 1, SETTINGS)[1:]
        return [0.0, *np.unique(np.quantile(gaps, levels)).tolist()]
