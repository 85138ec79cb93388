"""The size of the rewards does not change what is learned."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia import Policy, load_core, smooth, train
from policy_inertia.policies.memory import PREVIOUS_ACTION
from tests.support import lights

PRICES = (0.0, 0.3, 0.6, 1.0, 3.0)
FACTOR = 100.0
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


def shares_of_the_optimum(policy: Policy, allowed: np.ndarray | None = None) -> list[float]:
    """Exact priced values of what a dial does, as shares of the best ones.

    `allowed[s, a_prev, a]` restricts the actions of the best ones.
    """
    shares = []
    for price in PRICES:
        columns = [
            policy.at(FACTOR * price).predict(
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


def test_curve_of_a_dial_does_not_follow_the_size_of_rewards(tmp_path: Path) -> None:
    policy = train(
        "dial-dqn",
        partial(lights.EndingLights, factor=FACTOR),
        tmp_path / "run",
        steps=STEPS,
        eval_every=STEPS,
        learning_starts=200,
        core=CORE,
        **RUN,
    )
    shares = shares_of_the_optimum(policy)
    assert min(shares) > 0.9, shares


def test_curve_of_smooth_does_not_follow_the_size_of_rewards(tmp_path: Path) -> None:
    env = partial(lights.EndingLights, factor=FACTOR)
    q = FACTOR * np.vstack([lights.solve(0.0)[:, 0], np.zeros((1, lights.N_ACTIONS))])
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
    shares = shares_of_the_optimum(policy, allowed)
    assert min(shares) > 0.9, shares
