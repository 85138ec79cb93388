"""Minutes of training: do the methods solve a task at all? `make test-slow` runs it."""

import pytest

from policy_inertia import Policy, compare, evaluate
from policy_inertia.comparison import interval

SEEDS = 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_dqn_sac_and_nsac_solve_cartpole(tmp_path):
    """Gymnasium calls 475 of 500 solved; the gate is the lower end of an interval over seeds."""
    found = compare(["dqn", "sac", "nsac"], "CartPole-v1", SEEDS, tmp_path / "c", steps=100_000)
    assert all(r.done for r in found.runs)
    for name in ("dqn", "sac", "nsac"):
        returns = [
            evaluate(
                Policy.load(tmp_path / "c" / name / f"seed-{seed}" / "best.safetensors"),
                "CartPole-v1",
                50,
                seed=1_000 + seed,
                deterministic=True,
            ).summary()["return"]
            for seed in range(SEEDS)
        ]
        mean, half = interval(returns)
        print(f"{name}: {mean:.1f} ± {half:.1f} over {SEEDS} seeds")
        assert mean - half >= 475
