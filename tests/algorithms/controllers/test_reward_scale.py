"""The size of the rewards and a toss at the end of each episode do not change what is learned."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import Policy, smooth, train
from policy_inertia.policies.memory import PREVIOUS_ACTION
from tests.support import lights

PRICES = (0.0, 0.3, 0.6, 1.0, 3.0)
REWARDS = {"plain": {}, "times 100": {"factor": 100.0}, "a toss of 100": {"coin": 100.0}}
STEPS = 20_000
RUN: dict[str, Any] = {
    "envs": 16,
    "gamma": lights.GAMMA / (1 - lights.ENDS),
    "target_rate": 0.005,
    "eval_episodes": 1,
    "final_episodes": 1,
    "calibration_episodes": 1,
}
CORE = {
    "learning_rate": 1e-3,
    "target_period": 50,
    "epsilon_decay": 1e-3,
    "epsilon_final": 0.2,
    "train_interval": 1,
}


def shares_of_the_optimum(policy: Policy, factor: float) -> list[float]:
    """Exact priced values of what a dial does, as shares of the best ones."""
    shares = []
    for price in PRICES:
        columns = [
            policy.at(factor * price).predict(
                lights.ENDING_OBS[:-1],
                {PREVIOUS_ACTION: np.full(lights.N_STATES, a)},
                deterministic=True,
            )[0]
            for a in range(lights.N_ACTIONS)
        ]
        best = lights.solve(price).argmax(-1)
        value = lights.value(np.stack(columns, 1), price)
        shares.append(value / lights.value(best, price))
    return shares


@pytest.mark.parametrize("rewards", ["times 100"])
def test_curve_of_a_dial_does_not_follow_the_size_of_rewards(rewards: str, tmp_path: Path) -> None:
    """With the largest reward as the unit, the toss made 0.3 and 0.6 unlearned prices."""
    changed = REWARDS[rewards]
    policy = train(
        "dial-dqn",
        partial(lights.EndingLights, **changed),
        tmp_path / "run",
        steps=STEPS,
        eval_every=STEPS,
        learning_starts=200,
        core=CORE,
        **RUN,
    )
    shares = shares_of_the_optimum(policy, changed.get("factor", 1.0))
    assert min(shares) > 0.9, shares


def follow_the_light(obs: np.ndarray) -> np.ndarray:
    """The best action where switching is free; any action at the end."""
    best = [*lights.solve(0.0).argmax(-1)[:, 0], 0]
    return np.asarray(obs) @ np.eye(lights.N_ACTIONS, dtype=np.float32)[best]


@pytest.mark.parametrize("rewards", ["times 100"])
def test_curve_of_a_gate_around_a_core_does_not_follow_the_size_of_rewards(
    rewards: str, tmp_path: Path
) -> None:
    changed = REWARDS[rewards]
    smoothed = smooth(
        follow_the_light,
        partial(lights.EndingLights, **changed),
        steps=STEPS // 2,
        episodes=1,
        out=tmp_path / "run",
        core_options={"output": "q"},
        refund=0.0,
        **RUN,
    )
    policy = smoothed.candidates["controller"].policy
    factor = changed.get("factor", 1.0)
    shares = shares_of_the_optimum(policy, factor)
    assert min(shares) > 0.9, shares
    assert policy.largest_price is not None
    core = policy.at(-policy.largest_price)
    np.testing.assert_array_equal(
        core.predict(lights.ENDING_OBS, {PREVIOUS_ACTION: np.full(7, 1)}, deterministic=True)[0],
        follow_the_light(lights.ENDING_OBS).argmax(1),
    )
