"""Minutes of training: do the methods solve a task at all? `make test-slow` runs it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from policy_inertia import Policy, compare, evaluate, train

SEEDS = 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_dqn_sac_and_nsac_solve_cartpole(tmp_path: Path) -> None:
    """Gymnasium calls 475 of 500 solved; the gate is the lower end of an interval over seeds."""
    results = compare(["dqn", "sac", "nsac"], "CartPole-v1", SEEDS, tmp_path / "c", steps=100_000)
    assert not results.failed
    for line in results.experiments[0].lines:
        returns = [
            evaluate(
                Policy.load(line.folders[seed] / "best.safetensors"),
                "CartPole-v1",
                50,
                seed=1_000 + seed,
                deterministic=True,
            ).summary()["return"]
            for seed in range(SEEDS)
        ]
        assert interval(line.label, returns)[0] >= 475


QBERT = "policy_inertia/Qbert-v0"
# few steps, so: an update at each of them, clipped rewards, lives as episodes, a near horizon
HURRIED: dict[str, Any] = {
    "steps": 24_000,
    "envs": 16,
    "batch_size": 32,
    "buffer_size": 30_000,
    "learning_starts": 1_000,
    "gamma": 0.95,
    "learning_rate": 2e-4,
    "train_interval": 1,
    "target_period": 500,
    "epsilon_decay": 1.2e-4,
    "epsilon_final": 0.05,
    "huber": 1.0,
    "eval_every": 4_000,
    "eval_episodes": 20,
    "final_episodes": 1,
    "env_kwargs": {"reward_clipping": True, "episodic_life": True},
}


class Chance:
    """Any action, whatever is seen."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def predict(self, observation: Any, *_: Any, **__: Any) -> tuple[np.ndarray, None]:
        return self.rng.integers(0, 6, len(observation)), None


@pytest.mark.slow
@pytest.mark.timeout(14_400)
def test_dqn_is_better_than_chance_on_qbert_after_a_short_run(tmp_path: Path) -> None:
    """Whole games and raw scores; an hour on one core. Over seeds, and over games for chance."""
    pytest.importorskip("ale_py")
    results = compare(["dqn"], QBERT, SEEDS, tmp_path / "q", **HURRIED)
    assert not results.failed
    (line,) = results.experiments[0].lines
    scores = [
        evaluate(
            Policy.load(folder / "best.safetensors"),
            QBERT,
            50,
            seed=1_000 + seed,
            deterministic=True,
        ).summary()["return"]
        for seed, folder in enumerate(line.folders)
    ]
    print(scores)
    chance = [e.return_ for e in evaluate(Chance(), QBERT, 200, seed=1).episodes]
    assert interval("dqn", scores)[0] > interval("chance", chance)[1]


def interval(label, values):
    """The ends of the 95% interval of the mean."""
    mean, half = np.mean(values), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    print(f"{label}: {mean:.1f} ± {half:.1f} over {len(values)}")
    return mean - half, mean + half


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("method", ["sac", "td3"])
def test_sac_and_td3_solve_pendulum(method: str, tmp_path: Path) -> None:
    """About -150 is the best mean return; the gate is the lower end of an interval over seeds."""
    changes: dict[str, Any] = {"steps": 15_000, "hidden": (64, 64), "learning_rate": 1e-3}
    returns = []
    for seed in range(SEEDS):
        policy = train(method, "Pendulum-v1", tmp_path / str(seed), seed=seed, **changes)
        summary = evaluate(policy, "Pendulum-v1", 50, seed=1_000 + seed, deterministic=True)
        returns.append(summary.summary()["return"])
    assert interval(method, returns)[0] >= -200


@pytest.mark.slow
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("method", ["sac", "td3"])
def test_sac_and_td3_land_on_the_moon_with_one_seed(method: str, tmp_path: Path) -> None:
    """A lander that comes to rest on its pad has a return of 100 to 140, and 200 is solved."""
    pytest.importorskip("Box2D")
    kwargs = {"continuous": True}
    changes: dict[str, Any] = {"steps": 300_000, "hidden": (64, 64), "eval_every": 20_000}
    train(method, "LunarLander-v3", tmp_path / "r", env_kwargs=kwargs, **changes)
    best = Policy.load(tmp_path / "r" / "best.safetensors")
    figures = evaluate(best, "LunarLander-v3", 50, 1_000, True, kwargs).summary()
    assert figures["return"] >= 200
