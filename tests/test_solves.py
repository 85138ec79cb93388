"""Minutes of training: do the methods solve a task at all? `make test-slow` runs it."""

import numpy as np
import pytest
from scipy import stats

from policy_inertia import Policy, compare, evaluate

SEEDS = 5


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
