from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.settings import settings
from policy_inertia.study.declared import STUDIES
from policy_inertia.study.plan import SCALED, Experiment, Line, Study, Task

TWO_WAY = Task("Two-Way", "policy_inertia/TwoWay-v0")
SIMPLE = Task(
    "simple", "policy_inertia/TwoWay-v0", {"env_kwargs": {"config": {"scenario": "simple"}}}
)


def study(*lines, **changes):
    return Study("s", "S", (Experiment("e", "E", lines),), **{"seeds": (0, 1), **changes})


def test_line_is_the_studys_settings_then_the_tasks_then_its_own():
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


def test_runs_of_two_experiments_that_are_the_same_are_one():
    one = Experiment("a", "A", (Line("NSAC", "nsac", TWO_WAY),), hysteresis=(0.1, 0.5))
    two = Experiment("b", "B", (Line("mu0 = 0", "nsac", TWO_WAY, {"mu0": 0.0}),), hysteresis=(0.2,))
    runs = Study("s", "S", (one, two), (0, 1)).runs(Path("f"))
    assert [r.config.seed for r in runs] == [0, 1]
    assert runs[0].hysteresis == (0.1, 0.2, 0.5)


def test_folders_say_what_differs_and_never_collide():
    lines = (
        Line("a", "nsac", TWO_WAY),
        Line("b", "nsac", TWO_WAY, {"mu0": 0.1}),
        Line("c", "nsac", TWO_WAY, {"core": {"temperature": 0.3}}),
        Line("d", "nsac", SIMPLE),
        Line("e", "nsac", TWO_WAY, {"hidden": list(range(1, 60))}),
        Line("f", "nsac", TWO_WAY, {"hidden": list(range(1, 61))}),
    )
    paths = [str(r.path.parent.relative_to("f/runs")) for r in study(*lines).runs(Path("f"))][::1]
    assert paths[:4] == [
        "TwoWay-v0/nsac",
        "TwoWay-v0/nsac,mu0=0.1",
        "TwoWay-v0/nsac,core.temperature=0.3",
        "TwoWay-v0,scenario=simple/nsac",
    ]
    assert len(set(paths)) == 6
    assert max(map(len, paths)) < 120


def test_all_lines_are_equally_far_when_a_study_is_stopped():
    runs = study(Line("a", "dqn", TWO_WAY), Line("b", "sac", TWO_WAY)).runs(Path("f"))
    assert [(r.config.method, r.config.seed) for r in runs] == [
        ("dqn", 0),
        ("sac", 0),
        ("dqn", 1),
        ("sac", 1),
    ]


def test_action_repetition_gets_no_filter():
    line = Line("a", "dqn-repeat", TWO_WAY)
    (run,) = Study("s", "S", (Experiment("e", "E", (line,), hysteresis=(1.0,)),), (0,)).runs(Path())
    assert run.hysteresis == ()


def test_scale_shortens_everything_by_one_factor():
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


def test_the_papers_figures_are_all_declared():
    paper = STUDIES["paper"]
    names = [e.name for e in paper.experiments]
    assert names == ["base", "action-repetition", "reward-penalty", "scenarios", "mu0", "alpha"]
    base = paper.experiments[0]
    assert {x.method for x in base.lines} == {"dqn", "sac", "nsac"}
    assert len({x.task.env for x in base.lines}) == 4
    assert paper.seeds == (0, 1, 2, 3, 4)
    config = base.lines[0].config(paper.settings, 0)
    assert (config.eval_every, config.eval_episodes) == (5_000, 20)
    simple = [x for x in paper.experiments[3].lines if x.task.name != "Two-Way"]
    assert simple[0].config(paper.settings, 0).env_kwargs == {"config": {"scenario": "simple"}}
    assert len(paper.only(["mu0"]).experiments) == 1


@pytest.mark.parametrize(
    ("make", "says"),
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
def test_studies_that_make_no_sense_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()
