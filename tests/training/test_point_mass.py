"""The dial around a frozen core on point masses whose best smooth behaviour is known."""

from typing import Any

import numpy as np
import pytest

from policy_inertia import evaluate, load_core
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support import point_mass, point_mass_cores

CORES: dict[type[Any], Any] = {
    point_mass.HoldStill: point_mass_cores.hold_still,
    point_mass.SquareWave: point_mass_cores.square_wave,
    point_mass.TwoJoints: point_mass_cores.two_joints,
}
SMALL: dict[str, Any] = {
    "learning_starts": 200,
    "warmup": 200,
    "batch_size": 64,
    "hidden": (32, 32),
    "gamma": 0.9,
    "target_rate": 0.02,
    "buffer_size": 20_000,
}


def measured(env: type[Any], steps: int, share: float) -> tuple[float, Any, Any]:
    """The return of a dial around a core, and by how much each number of both moves per step.

    Args:
        env: The point mass.
        steps: Env steps of training.
        share: The price that the dial is set to, as a share of the largest.
    """
    core = load_core(CORES[env], env)
    config = settings("smooth", env.__name__, actions="box", **SMALL)
    run = Session(config, env, BoxSpacesWithCore.of_core(core))
    while run.step < steps:
        run.advance()
    policy = run.policy()
    dial = policy.at(share * (policy.largest_price or 0.0))
    runs = [evaluate(p, env, 20, seed=1_000, deterministic=True) for p in (core, dial)]
    core_moves, dial_moves = (
        np.mean([np.abs(np.diff(e.actions, axis=0)).mean(0) / 2 for e in one.episodes], axis=0)
        for one in runs
    )
    return runs[1].summary()["return"], core_moves, dial_moves


def check_hold_still(steps: int, lowest_return: float) -> None:
    """Doing nothing returns -13."""
    after, core, dial = measured(point_mass.HoldStill, steps, 0.1)
    assert dial[0] < 0.25 * core[0]
    assert after > lowest_return


def check_square_wave(steps: int, lowest_return: float) -> None:
    """The wave itself moves by 0.08; an action that never moves returns -25 or less."""
    after, core, dial = measured(point_mass.SquareWave, steps, 0.03)
    assert 0.05 < dial[0] < 0.75 * core[0]
    assert after > lowest_return


def check_two_joints(steps: int, lowest_return: float) -> None:
    """The second number does nothing for the return."""
    after, core, dial = measured(point_mass.TwoJoints, steps, 0.1)
    assert dial[0] > 0.9 * core[0]
    assert dial[1] < 0.1 * core[1]
    assert after > lowest_return


def test_point_mass_that_must_hold_still_holds_stiller_than_its_core() -> None:
    check_hold_still(3_000, -9.0)


def test_square_wave_is_still_followed_and_its_noise_is_not() -> None:
    check_square_wave(3_000, -5.0)


def test_only_the_joint_that_does_nothing_is_kept_still() -> None:
    check_two_joints(3_000, -2.0)


@pytest.mark.slow
def test_longer_training_holds_still_at_a_better_return_than_the_cores() -> None:
    check_hold_still(15_000, -1.0)  # the core's is -1.12


@pytest.mark.slow
def test_longer_training_follows_the_wave_better_than_the_core() -> None:
    check_square_wave(15_000, -0.6)  # the core's is -0.78


@pytest.mark.slow
def test_longer_training_keeps_the_second_joint_still_at_full_return() -> None:
    check_two_joints(15_000, -0.5)  # the core's is 0
