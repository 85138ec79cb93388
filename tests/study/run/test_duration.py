from pathlib import Path

from policy_inertia.settings import settings
from policy_inertia.study.plan import Run
from policy_inertia.study.run.duration import Pace, estimate


def run(method="dqn", hysteresis=(), **changes) -> Run:
    changes = {"steps": 1_000, "eval_every": 300, "eval_episodes": 2, "final_episodes": 5} | changes
    return Run("r", settings(method, "CartPole-v1", **changes), Path("r"), hysteresis)


def test_pace_adds_up_start_steps_and_episodes():
    # evaluations at 0, 300, 600, 900 and 1,000; at the end sampled and greedy, filtered as well
    episodes = 5 * 2 + 5 * (2 + 2 * 3)
    assert Pace(2.0, 0.01, 0.1).seconds(run(hysteresis=(1, 2, 3))) == 2 + 10 + 0.1 * episodes


def test_each_kind_is_timed_once_and_longer_runs_take_longer():
    seen = []
    short, long, other = estimate(
        [run(), run(steps=100_000, seed=1, gamma=0.5), run("sac")],
        0.05,
        lambda i, n: seen.append((i, n)),
    )
    assert seen == [(1, 2), (2, 2)]
    assert long > 2 * short > 0
    assert other > 0
