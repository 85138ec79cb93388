from pathlib import Path
from typing import Any

from policy_inertia.run_settings import settings
from policy_inertia.study.plan import Experiment, Line, Run, Study, Task
from policy_inertia.study.run.duration import Pace, estimate, remaining


def run(method: str = "dqn", hysteresis: tuple[float, ...] = (), **changes: Any) -> Run:
    schedule = {"steps": 1_000, "eval_every": 300, "eval_episodes": 2, "final_episodes": 5}
    config = settings(method, "CartPole-v1", **(schedule | changes))
    return Run("r", config, Path("r"), hysteresis)


def test_a_pace_adds_up_start_steps_and_episodes() -> None:
    # evaluations at 0, 300, 600, 900 and 1,000; at the end sampled and greedy, and each filtered
    episodes = 5 * 2 + 5 * (2 + 2 * 3)
    assert Pace(2.0, 0.01, 0.1).seconds(run(hysteresis=(1, 2, 3))) == 2 + 10 + 0.1 * episodes


def test_each_kind_is_timed_once_and_longer_runs_take_longer() -> None:
    watched: list[tuple[int, int]] = []
    short, long, other = estimate(
        [run(), run(steps=100_000, seed=1, gamma=0.5), run("sac")],
        0.05,
        lambda i, n: watched.append((i, n)),
    )
    assert watched == [(1, 2), (2, 2)]
    assert long > 2 * short > 0
    assert other > 0


def test_the_runs_of_a_line_are_added_up(tmp_path: Path) -> None:
    task = Task("CartPole", "CartPole-v1")
    experiment = Experiment("e", "E", (Line("DQN", "dqn", task), Line("SAC", "sac", task)))
    study = Study("s", "S", (experiment,), (0, 1, 2), {"steps": 1_000})
    lines = remaining(study, tmp_path)
    assert [(x.label, x.runs) for x in lines] == [("CartPole, DQN", 3), ("CartPole, SAC", 3)]
    assert all(x.seconds > 0 for x in lines)
