"""Neither the size of the rewards nor a toss at the end of episodes changes what is learned."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import Policy, load_core, smooth, train
from policy_inertia.policies.memory import PREVIOUS_ACTION
from tests.support import lights

PRICES = (0.0, 0.3, 0.6, 1.0, 3.0)
REWARDS: list[dict[str, float]] = [{"factor": 100.0}, {"coin": 100.0}]
"""All rewards times 100; and 100 or -100 by chance at the end, where a step earns at most 1."""
STEPS = 20_000
RUN: dict[str, Any] = {
    "envs": 16,
    "gamma": lights.GAMMA / (1 - lights.ENDS),
    "target_rate": 0.005,
    "hidden": (32, 32),
    "learning_rate": 1e-3,
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


def shares_of_the_optimum(
    policy: Policy, factor: float = 1.0, allowed: np.ndarray | None = None
) -> list[float]:
    """Exact priced values of what a dial does, as shares of the best ones.

    Prices are multiplied by `factor`. `allowed[s, a_prev, a]` restricts the actions of the best
    ones.
    """
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
        best = lights.solve(price, allowed).argmax(-1)
        value = lights.value(np.stack(columns, 1), price)
        shares.append(value / lights.value(best, price))
    return shares


@pytest.mark.parametrize("rewards", REWARDS)
def test_curve_of_a_dial_withstands(rewards: dict[str, float], tmp_path: Path) -> None:
    policy = train(
        "dial-dqn",
        partial(lights.EndingLights, **rewards),
        tmp_path / "run",
        steps=STEPS,
        eval_every=STEPS,
        learning_starts=200,
        core=CORE,
        **RUN,
    )
    shares = shares_of_the_optimum(policy, rewards.get("factor", 1.0))
    assert min(shares) > 0.9, shares


@pytest.mark.parametrize("rewards", REWARDS)
def test_curve_of_smooth_withstands(rewards: dict[str, float], tmp_path: Path) -> None:
    env, factor = partial(lights.EndingLights, **rewards), rewards.get("factor", 1.0)
    q = factor * np.vstack([lights.solve(0.0)[:, 0], np.zeros((1, lights.N_ACTIONS))])
    smooth(
        lambda obs: obs @ q,
        env,
        steps=8_000,
        train=True,
        episodes=2,
        out=tmp_path,
        core_options={"output": "q"},
        batch_size=64,
        **RUN,
    )
    policy = Policy.load(
        tmp_path / "controller", core=load_core(lambda obs: obs @ q, env, output="q")
    )
    follows = np.eye(lights.N_ACTIONS, dtype=bool)[q[:-1].argmax(1)]
    allowed = np.eye(lights.N_ACTIONS, dtype=bool)[None] | follows[:, None]
    shares = shares_of_the_optimum(policy, factor, allowed)
    assert min(shares) > 0.9, shares
