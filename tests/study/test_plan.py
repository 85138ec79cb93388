from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.run_settings import settings
from policy_inertia.study.plan import SCALED, Experiment, Line, Study, Task

TWO_WAY = Task("Two-Way", "policy_inertia/TwoWay-v0")
SIMPLE = Task(
    "simple", "policy_inertia/TwoWay-v0", {"env_kwargs": {"config": {"scenario": "simple"}}}
)


def study(*lines: Line, **changes: Any) -> Study:
    return Study("s", "S", (Experiment("e", "E", lines),), **{"seeds": (0, 1), **changes})


def test_a_line_overrides_its_task_and_the_task_overrides_the_study() -> None:
    task = Task("t", "CartPole-v1", {"steps": 20, "gamma": 0.5})
    line = Line("l", "nsac", task, {"gamma": 0.9, "mu0": 0.2, "core": {"temperature": 0.3}})
    config = line.config({"steps": 10, "gamma": 0.1, "envs": 4}, seed=3)
    expected = settings(
        "nsac",
        "CartPole-v1",
        steps=20,
        gamma=0.9,
        envs=4,
        mu0=0.2,
        core={"temperature": 0.3},
        seed=3,
    )
    assert config == expected


def test_an_experiment_on_request_runs_only_if_it_is_named() -> None:
    line = (Line("NSAC", "nsac", TWO_WAY),)
    both = Study(
        "s", "S", (Experiment("a", "A", line), Experiment("b", "B", line, on_request=True))
    )
    assert [e.name for e in both.only(()).experiments] == ["a"]
    assert [e.name for e in both.only(["b"]).experiments] == ["b"]


def test_two_experiments_share_a_run_that_both_need() -> None:
    one = Experiment("a", "A", (Line("NSAC", "nsac", TWO_WAY),), hysteresis=(0.1, 0.5))
    two = Experiment("b", "B", (Line("mu0 = 0", "nsac", TWO_WAY, {"mu0": 0.0}),), hysteresis=(0.2,))
    runs = Study("s", "S", (one, two), (0, 1)).runs(Path("f"))
    assert [r.config.seed for r in runs] == [0, 1]
    assert runs[0].hysteresis == (0.1, 0.2, 0.5)


def test_folders_are_named_by_what_differs_and_never_collide() -> None:
    lines = (
        Line("a", "nsac", TWO_WAY),
        Line("b", "nsac", TWO_WAY, {"mu0": 0.1}),
        Line("c", "nsac", TWO_WAY, {"core": {"temperature": 0.3}}),
        Line("d", "nsac", SIMPLE),
        Line("e", "nsac", TWO_WAY, {"hidden": list(range(1, 60))}),
        Line("f", "nsac", TWO_WAY, {"hidden": list(range(1, 61))}),
    )
    paths = [str(r.path.parent.relative_to("f/runs")) for r in study(*lines).runs(Path("f"))]
    assert paths[:4] == [
        "TwoWay-v0/nsac",
        "TwoWay-v0/nsac,mu0=0.1",
        "TwoWay-v0/nsac,core.temperature=0.3",
        "TwoWay-v0,scenario=simple/nsac",
    ]
    assert len(set(paths)) == 6
    assert max(map(len, paths)) < 120


def test_a_stopped_study_has_finished_equally_many_runs_of_all_lines() -> None:
    runs = study(Line("a", "dqn", TWO_WAY), Line("b", "sac", TWO_WAY)).runs(Path("f"))
    assert [(r.config.method, r.config.seed) for r in runs] == [
        ("dqn", 0),
        ("sac", 0),
        ("dqn", 1),
        ("sac", 1),
    ]


def test_a_number_of_seeds_means_the_first_of_the_study_and_then_new_ones() -> None:
    plan = study(Line("a", "dqn", TWO_WAY), seeds=(100, 101, 102))
    assert plan.with_seeds(2).seeds == (100, 101)
    assert plan.with_seeds(5).seeds == (100, 101, 102, 103, 104)
    with pytest.raises(InputError, match="different whole numbers"):
        plan.with_seeds(0)


def test_a_method_that_holds_its_actions_gets_no_filter_and_keeps_budgets_as_it_is() -> None:
    line = Line("a", "dqn-repeat", TWO_WAY)
    experiment = Experiment("e", "E", (line,), hysteresis=(1.0,), budgets=(0.1,), limits=(0.1,))
    (run,) = Study("s", "S", (experiment,), (0,)).runs(Path())
    assert (run.hysteresis, run.budgets, run.limits) == ((), (0.1,), ())


def test_scale_shortens_the_whole_schedule_by_one_factor() -> None:
    longer = Line("b", "sac", Task("t", "CartPole-v1", {"steps": 4_000}))
    plan = study(Line("a", "dqn", TWO_WAY), longer, settings={"steps": 1_000}).scaled(0.1)
    short, long = (r.config for r in plan.runs(Path())[:2])
    assert (short.steps, long.steps) == (100, 400)
    assert {k: getattr(short, k) for k in SCALED[1:]} == {
        "eval_every": 500,
        "eval_episodes": 2,
        "final_episodes": 5,
        "learning_starts": 100,
    }


def test_the_smallest_study_is_methods_side_by_side_on_one_env() -> None:
    plan = Study.of_methods(
        ["dqn", "nsac", "dqn"], "CartPole-v1", 2, [0.1], {"nsac": {"mu0": 0.2}}, {"steps": 50}
    )
    assert (plan.name, plan.title, plan.seeds) == ("comparison", "dqn, nsac on CartPole-v1", (0, 1))
    runs = plan.runs(Path("f"))
    assert [(r.config.method, r.config.steps, r.hysteresis) for r in runs[:2]] == [
        ("dqn", 50, (0.1,)),
        ("nsac", 50, (0.1,)),
    ]
    assert runs[1].config.to_dict()["config"]["mu0"] == 0.2


def test_only_a_dial_is_also_held_to_budgets_without_its_controller() -> None:
    lines = tuple(Line(m, m, TWO_WAY) for m in ("dqn", "nsac", "dial-dqn"))
    plan = Study("s", "S", (Experiment("e", "E", lines, budgets=(0.1,)),), (0,))
    assert [r.core_budgets for r in plan.runs(Path("f"))] == [(), (), (0.1,)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: study(Line("a", "dqn", TWO_WAY), seeds=(0, 0)), "seed 0 is given twice"),
        (lambda: study(Line("a", "dqn", TWO_WAY), seeds=()), "different whole numbers"),
        (lambda: study(Line("a", "dqn", TWO_WAY), seeds=(-1,)), "different whole numbers"),
        (lambda: study(), "has no lines"),
        (lambda: study(Line("a", "dqn", TWO_WAY), Line("a", "sac", TWO_WAY)), "the same name"),
        (lambda: study(Line("a", "dqn", TWO_WAY)).scaled(0), "scale is 0"),
        (lambda: study(Line("a", "dqn", TWO_WAY)).scaled(float("nan")), "scale is nan"),
        (lambda: study(Line("a", "dqn", TWO_WAY)).only(["f"]), "no experiment 'f'"),
        (
            lambda: study(Line("a", "dqn", TWO_WAY), Line("b", "dqn", TWO_WAY, {"steps": 7})).runs(
                Path()
            ),
            "with two schedules",
        ),
    ],
)
def test_a_study_that_makes_no_sense_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()
