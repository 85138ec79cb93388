"""A short real run; about three minutes a seed."""

import numpy as np
import pytest

from policy_inertia import evaluate, train
from policy_inertia.study.statistics import mean_and_t_interval

pytest.importorskip("ale_py")

QBERT = "policy_inertia/Qbert-v0"


class Random:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return self.rng.integers(0, 6, len(observation)), None


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_dqn_is_better_than_random_on_qbert(tmp_path):
    chance = evaluate(Random(), QBERT, 40, seed=5).summary()["return"]
    scores = []
    for seed in range(3):
        policy = train(
            "dqn",
            QBERT,
            tmp_path / str(seed),
            seed=seed,
            steps=12_000,
            batch_size=32,
            buffer_size=20_000,
            learning_starts=1_000,
            eval_every=12_000,
            target_period=250,
            epsilon_decay=5e-4,
            huber=1.0,
            env_kwargs={"reward_clipping": True},
        )
        scores.append(evaluate(policy, QBERT, 20, seed=6, deterministic=True).summary()["return"])
    found = mean_and_t_interval(scores)
    print(f"Qbert after 12,000 steps: {scores}, random {chance:.0f}, interval from {found.low:.0f}")
    assert found.low > chance
