import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.study.declared import find_study
from policy_inertia.study.plan import Study
from policy_inertia.study.toml import load_study, study_from_dict

WHOLE = """
title = "Mine"
about = "what for"
seeds = [3, 5]
steps = 2_000
hysteresis = [0.1]
settings = { envs = 4 }

[methods.DQN]
method = "dqn"
[methods."NSAC, bounded"]
method = "nsac"
mu0 = 0.2
core.temperature = 0.05

[tasks."Two-Way"]
env = "policy_inertia/TwoWay-v0"
env_kwargs.config.scenario = "simple"
[tasks.CartPole-v1]

[[experiments]]
name = "one"
title = "The first"
methods = ["DQN"]
tasks = ["CartPole-v1"]
hysteresis = []
[[experiments]]
name = "two"
ablation = true
"""


def test_a_file_can_hold_everything_that_a_study_can(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(WHOLE)
    study = find_study(str(tmp_path / "mine.toml"))
    assert isinstance(study, Study)
    assert (study.name, study.title, study.about, study.seeds) == (
        "mine",
        "Mine",
        "what for",
        (3, 5),
    )
    one, two = study.experiments
    assert [(x.label, x.task.name) for x in one.lines] == [("DQN", "CartPole-v1")]
    assert (one.title, one.ablation, one.hysteresis) == ("The first", False, ())
    assert [(x.label, x.task.name) for x in two.lines] == [
        ("DQN", "Two-Way"),
        ("NSAC, bounded", "Two-Way"),
        ("DQN", "CartPole-v1"),
        ("NSAC, bounded", "CartPole-v1"),
    ]
    assert (two.ablation, two.hysteresis) == (True, (0.1,))
    config: Any = two.lines[1].config(study.settings, 3)
    assert (config.steps, config.envs, config.config.mu0) == (2_000, 4, 0.2)
    assert config.config.core.temperature == 0.05
    assert config.env_kwargs == {"config": {"scenario": "simple"}}


def test_the_examples_in_the_docs_are_studies() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
    short, long = re.findall(r"```toml\n(.*?)```", page, re.S)
    study = study_from_dict(tomllib.loads(short), "robot")
    assert [x.label for _, x in study.lines()] == ["dqn", "sac", "nsac"]
    study = study_from_dict(tomllib.loads(long), "bounds")
    assert [x.label for _, x in study.lines()] == ["NSAC", "NSAC, bounded"]


def test_a_list_of_names_is_enough(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('methods = ["dqn"]\ntasks = ["CartPole-v1"]\nseeds = 2')
    study = load_study(tmp_path / "s.toml")
    assert study.seeds == (0, 1)
    assert [(e.name, [x.label for x in e.lines]) for e in study.experiments] == [("s", ["dqn"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methds = []", "'methds' is no key of a study: did you mean 'methods'"),
        ("methods = [", "cannot be read as a study in TOML"),
        ('tasks = ["CartPole-v1"]', "methods is None: list names"),
        ('methods = ["dqm"]\ntasks = ["X"]', "did you mean 'dqn'"),
        ('methods = ["dqn"]\ntasks = []', "tasks is .*list names"),
        ('methods.a = {method = "nsac", mu = 1}\ntasks = ["X"]', "did you mean 'mu0'"),
        ('methods.a = {method = "nsac", mu0 = "x"}\ntasks = ["X"]', "mu0 is 'x'"),
        ('methods = ["dqn"]\ntasks = ["X"]\nsteps = "many"', "steps is 'many'"),
        ('methods = ["dqn"]\ntasks = ["X"]\nseeds = [1, 1]', "seed 1 is given twice"),
        (
            'methods = ["dqn"]\ntasks = ["X"]\nseeds = "all"',
            "seeds is 'all': it must be a whole number or a list",
        ),
        (
            'methods = ["dqn"]\ntasks = ["X"]\nseeds = 10000000000',
            "seeds is 10000000000: give 1 to",
        ),
        ('methods = ["dqn"]\ntasks = ["X"]\nseeds = 1e9', "seeds is 1000000000: give 1 to 10,000"),
        ('methods = ["dqn"]\ntasks = ["X"]\nseeds = [1, "x"]', r"seeds\[1\] is 'x': it must be a"),
        ('methods = ["dqn"]\ntasks = ["X"]\nsettings = 3', "settings is 3: it must be a table"),
        ('methods = ["dqn"]\ntasks = ["X"]\nhysteresis = 5', "hysteresis is 5: it must be a list"),
        ('methods = ["dqn"]\ntasks = ["X"]\nexperiments = 5', "experiments .* holds 5: it must be"),
        ('methods.a = {method = 5}\ntasks = ["X"]', "it holds 5: it must be a text"),
        ('tasks.a = {env = []}\nmethods = ["dqn"]', r"it holds \[\]: it must be a text"),
        ("a = " + "[" * 5_000, "nested too deeply"),
        (
            'methods = ["dqn"]\ntasks = ["X"]\n[[experiments]]\ntitle = "t"',
            r"experiments\[0\].name is missing: it must be a text",
        ),
        (
            'methods = ["dqn"]\ntasks = ["X"]\n[[experiments]]\nname = "t"\nmethods = ["dqm"]',
            "names 'dqm'.*did you mean 'dqn'",
        ),
        (
            'methods.a = {method = "nsac", repeats = [1, 2]}\ntasks = ["X"]',
            "holds its actions by its controller",
        ),
    ],
)
def test_a_mistake_in_a_file_is_reported_in_one_sentence(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        load_study(tmp_path / "s.toml")
    assert "\n" not in str(error.value)


def test_an_unknown_study_or_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'paper'"):
        find_study("papr")
    with pytest.raises(InputError, match="there is no file"):
        find_study(str(tmp_path / "none.toml"))
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read as a study"):
        find_study(str(tmp_path / "b.toml"))
