"""Minutes of training: do the methods solve a task at all? `make test-slow` runs it."""

import numpy as np
import pytest
from scipy import stats

from policy_inertia import Policy, compare, evaluate

SEEDS = 5
QBERT = "policy_inertia/Qbert-v0"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_dqn_sac_and_nsac_solve_cartpole(tmp_path):
    """Gymnasium calls 475 of 500 solved; the gate is the lower end of an interval over seeds."""
    found = compare(["dqn", "sac", "nsac"], "CartPole-v1", SEEDS, tmp_path / "c", steps=100_000)
    assert not found.failed
    for series in found.experiments[0].series:
        returns = [
            evaluate(
                Policy.load(series.folders[seed] / "best.safetensors"),
                "CartPole-v1",
                50,
                seed=1_000 + seed,
                deterministic=True,
            ).summary()["return"]
            for seed in range(SEEDS)
        ]
        assert interval(series.label, returns)[0] >= 475


def interval(label, values):
    """The ends of the 95% interval of the mean."""
    mean, half = np.mean(values), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    print(f"{label}: {mean:.1f} ± {half:.1f} over {len(values)}")
    return mean - half, mean + half


class Random:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return self.rng.integers(0, 6, len(observation)), None


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_short_run_on_qbert_scores_more_than_chance(tmp_path):
    pytest.importorskip("ale_py")
    settings = {
        "steps": 12_000,
        "batch_size": 32,
        "buffer_size": 20_000,
        "learning_starts": 1_000,
        "eval_every": 2_000,
        "eval_episodes": 10,
        "final_episodes": 2,
        "target_period": 250,
        "epsilon_decay": 5e-4,
        "huber": 1.0,
        "env_kwargs": {"reward_clipping": True},
    }
    found = compare(["dqn"], QBERT, SEEDS, tmp_path / "c", **settings)
    assert not found.failed
    (series,) = found.experiments[0].series
    scores = [
        evaluate(
            Policy.load(series.folders[seed] / "best.safetensors"), QBERT, 20, 1_000 + seed, True
        ).summary()["return"]
        for seed in range(SEEDS)
    ]
    by_chance = [e.reward for e in evaluate(Random(), QBERT, 100, 2_000).episodes]
    assert interval("DQN", scores)[0] > interval("chance", by_chance)[1]
