"""Measure a policy at every setting, with the same episodes, on seeds that nothing else uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from policy_inertia.calibration.first_settings import SETTINGS, first_settings
from policy_inertia.calibration.matched import Curve, best_at, best_overall, levels
from policy_inertia.calibration.measurements import Counter, Episodes, Progress, opened
from policy_inertia.envs.making import EnvLike
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import OSCILLATION
from policy_inertia.metrics.setting_rows import loosest_within
from policy_inertia.policies.policy import Policy
from policy_inertia.seeds import Stream

FINE = 0.02  # refinement stops when neighbours differ by less; the noise is as large. Of Box
# actions, which may move very little: a share of the largest fluctuation
FROZEN = 0.01  # the sweep goes on to higher settings until the oscillation ratio is this low
FURTHER = 4  # settings beyond that, until the policy never switches
CLOSE = 0.005  # how closely a setting is searched for below a given budget
CLOSE_SHARE = 0.05  # the same for Box actions, as a share of the budget
HALVINGS = 8  # of the stretch between two settings, in that search

RowAt = Callable[[float], Row]
"""Measure the policy at one setting."""


def calibrate(
    policy: Policy,
    env: EnvLike | Envs | None = None,
    episodes: int = 50,
    seed: int = 0,
    settings: Sequence[float] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Policy:
    """Measure a policy at many settings, and return it with the table (`policy.calibration`).

    The settings of a dial are prices, those of a method that plans with limits are rates. Any other
    policy is swept over thresholds of hysteresis, so it needs no training. Every setting runs the
    same episodes, with greedy actions.

    Where a policy can act in several modes (`policy.modes()`), they are compared at the same
    oscillation, on episodes of their own. A row of the table belongs to the mode that is best at
    the row's oscillation, so `with_budget` chooses mode and setting. The policy itself is returned
    in the mode that is best over all.

    Args:
        policy: The policy to measure.
        env: A Gymnasium id, a function that makes an env, an env (as for `evaluate`), or open
            envs. By default the task that the policy was trained on, with its arguments.
        episodes: Number of episodes at each setting.
        seed: Seed of the episodes.
        settings: The settings to measure. By default they go from the loosest to where the policy
            hardly ever switches, and are closer together where the oscillation ratio changes fast.
        env_kwargs: Arguments of the env.
        progress: Called at the start and after each setting.

    Raises:
        InputError: The policy holds its actions by itself, or no task is known.
    """
    if not isinstance(policy, Policy):
        raise InputError(
            f"the policy is a {type(policy).__name__}: give a Policy; calibrate_filter measures "
            "the filters of continuous actions"
        )
    if policy.repeats != (1,):
        raise InputError(
            f"{policy.method} holds its actions by itself: calibrate a method that decides at "
            "every step"
        )
    if env is None:
        if not policy.task:
            raise InputError("this policy does not say on which task it was trained: give env")
        env, env_kwargs = policy.task, env_kwargs or policy.env_kwargs
    modes = policy.modes()
    count = Counter(progress, SETTINGS * (2 if len(modes) == 1 else 2 + len(modes)))
    count.start()
    with opened(env, episodes, env_kwargs) as envs:
        calibration = Episodes(envs, episodes, seed, measured=count)
        first = first_settings(policy, calibration.run) if settings is None else list(settings)
        first.sort(reverse=policy.adjustable.lower_is_smoother)
        if len(modes) == 1:
            best, rows = modes[0], _sweep(modes[0], calibration, first, settings is None)
        else:
            own = Episodes(envs, episodes, seed, Stream.SELECTION, count)
            # below a price of 0 every mode goes over to the core, so there is nothing to compare
            compared = [setting for setting in first if setting >= 0] or first
            curves = [[own.row(mode, setting) for setting in compared] for mode in modes]
            best = modes[best_overall(curves)]
            winners = {best_at(curves, level) for level in levels(curves)}
            sweeps = {
                i: _sweep(modes[i], calibration, first, settings is None) for i in sorted(winners)
            }
            rows = _best_rows(sweeps, curves)
        count.finish()
        about = policy.setting_name, envs.name, episodes, seed
        table = Calibration(*about, tuple(rows), count.done)
    return best.replace(calibration=table)


def refine(
    policy: Policy,
    env: EnvLike | Envs,
    budget: float,
    env_kwargs: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Policy:
    """Add settings to a calibration, between the one that keeps a budget and the next looser one.

    Args:
        policy: A calibrated policy.
        env: Where it was calibrated.
        budget: The budget.
        env_kwargs: Arguments of the env.
        progress: Called before the first setting that is added, and after each.

    Returns:
        The policy with more rows; the same if no setting keeps the budget, or all do.
    """
    table = policy.calibration
    assert table is not None, "only a calibration can be refined"
    rows = list(table.rows)
    close = CLOSE if policy.spaces.actions.finite else CLOSE_SHARE * budget
    count = Counter(progress, HALVINGS)
    with opened(env, table.episodes, env_kwargs) as envs:
        episodes = Episodes(envs, table.episodes, table.seed, measured=count)
        for _ in range(HALVINGS):
            low = loosest_within(rows, _smallest_budget, budget)
            if low is None or low is rows[0]:
                break
            place = rows.index(low)
            high = rows[place - 1]
            if low.mode != high.mode:
                break
            apart = high.oscillation_ratio - low.oscillation_ratio > close
            if not apart or _is_cliff(low.setting, high.setting):
                break
            if not count.done:
                count.start()
            middle = policy.at_row(dataclasses.replace(low, setting=_middle(low, high)))
            rows.insert(place, episodes.row(middle, _middle(low, high)))
    count.finish()
    measured = table.trials + len(rows) - len(table.rows)
    table = dataclasses.replace(table, rows=tuple(rows), measured=measured)
    return policy.replace(calibration=table)


def _unit(rows: Sequence[Row]) -> float:
    """What `FINE` is a share of: all steps, or the largest movement of Box actions."""
    if rows[0].measure == OSCILLATION.name:
        return 1.0
    return max(row.oscillation_ratio for row in rows)


def _middle(low: Row, high: Row) -> float:
    return (low.setting + high.setting) / 2


def _is_cliff(one: float, other: float) -> bool:
    """Whether two settings are so close that no setting in between would smooth a cliff."""
    return abs(one - other) < 0.01 * max(abs(one), abs(other))


def _sweep(
    policy: Policy, episodes: Episodes, first: Sequence[float], more: bool = True
) -> list[Row]:
    """Measure a policy in one mode: at the first settings, beyond them and between them."""

    def at(setting: float) -> Row:
        return episodes.row(policy, setting)

    rows = [at(setting) for setting in first]
    if not more:
        return rows
    # a dial of Box actions knows no prices beyond the largest that it learned
    if policy.spaces.actions.finite:
        rows = _extended(rows, at)
    return _refined(rows, at)


def _best_rows(sweeps: dict[int, list[Row]], curves: Sequence[Curve]) -> list[Row]:
    """The rows of every mode at the oscillation ratios where it is best, the loosest first.

    Args:
        sweeps: Rows by the number of their mode.
        curves: What the modes do on the episodes on which they are compared.
    """
    ranked: list[tuple[float, int, Row]] = []
    for mode, rows in sweeps.items():
        ratio = 0.0  # from this row on to the smoothest
        for place in reversed(range(len(rows))):
            ratio = max(ratio, rows[place].oscillation_ratio)
            if best_at(curves, ratio) == mode:
                ranked.append((-ratio, place, rows[place]))
    best = [row for _, _, row in sorted(ranked, key=lambda entry: entry[:2])]
    smoothest = min((row for rows in sweeps.values() for row in rows), key=_smallest_budget)
    if not best or smoothest.smallest_budget < best[-1].smallest_budget:
        best.append(smoothest)
    return best


def _smallest_budget(row: Row) -> float:
    return row.smallest_budget


def _extended(rows: list[Row], at: RowAt) -> list[Row]:
    """Double the highest setting until the policy hardly ever switches; a rate ends at 0.

    A few settings more may reach a policy that never switches: it keeps every budget.
    """
    rows, further = list(rows), 0
    while rows[-1].oscillation_ratio > 0 and rows[-1].setting > 0:
        further += rows[-1].oscillation_ratio <= FROZEN
        if len(rows) >= 2 * SETTINGS or further > FURTHER:
            break
        rows.append(at(2 * rows[-1].setting))
    return rows


def _refined(rows: list[Row], at: RowAt) -> list[Row]:
    """Add settings halfway between the two neighbours that differ most in oscillation."""
    rows = list(rows)
    for _ in range(SETTINGS if len(rows) > 1 else 0):
        steps = [
            0.0
            if _is_cliff(one.setting, other.setting)
            else abs(one.oscillation_ratio - other.oscillation_ratio)
            for one, other in pairwise(rows)
        ]
        i = int(np.argmax(steps))
        if steps[i] <= FINE * _unit(rows):
            break
        rows.insert(i + 1, at(_middle(rows[i], rows[i + 1])))
    return rows
