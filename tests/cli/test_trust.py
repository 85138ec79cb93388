"""No command imports a package because a file names it, unless it is told to trust the file.

The policies and the study here are as somebody else may have made them: they name the canary, a
package that leaves a trace when it is imported.
"""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import Policy, calibrate, compare, evaluate, load_core, model_card, train
from policy_inertia.errors import InputError
from policy_inertia.run_settings import settings
from policy_inertia.study.folder import collect
from policy_inertia.study.plan import Run as StudyRun
from policy_inertia.study.run.job import attempt, job_of
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.study.run.workers import Workers
from tests.cli.conftest import Run
from tests.support.canary import Canary, canary
from tests.support.policies import fresh
from tests.support.tiny_studies import quick

__all__ = ["canary"]

SHORT: dict[str, Any] = {
    "steps": 64,
    "learning_starts": 32,
    "eval_every": 64,
    "eval_episodes": 1,
    "final_episodes": 1,
}


@pytest.fixture
def downloaded(tmp_path: Path, canary: Canary) -> Path:
    """A policy file that names the canary."""
    path = tmp_path / "downloaded policy.safetensors"
    fresh("nsac").replace(task=canary.env).save(path)
    return path


@pytest.fixture(scope="session")
def small_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two methods on CartPole."""
    out = tmp_path_factory.mktemp("study") / "s"
    few = {"calibration_episodes": 1}
    run_study(quick(**SHORT, methods=["dqn", "nsac"], budgets=[0.9], settings=few), out, Workers(1))
    return out


@pytest.fixture
def downloaded_study(tmp_path: Path, small_study: Path, canary: Canary) -> Path:
    """The study with files that were edited to name the canary."""
    out = tmp_path / "downloaded study"
    shutil.copytree(small_study, out)
    for file in (out / "study.json", *out.rglob("run.json")):
        file.write_text(file.read_text().replace('"env": "CartPole-v1"', f'"env": "{canary.env}"'))
    assert canary.env in (out / "study.json").read_text()
    return out


WITH_POLICY = {
    "evaluate": ("--episodes", 1),
    "dial": ("--episodes", 1),
    "record": ("--steps", 2),
    "export": ("--episodes", 1, "--card"),
}


@pytest.mark.parametrize("command", WITH_POLICY)
def test_a_policy_file_imports_a_package_only_with_trust(
    command: str, run: Run, downloaded: Path, canary: Canary, tmp_path: Path
) -> None:
    words: list[Any] = [command, downloaded, *WITH_POLICY[command]]
    if command == "export":
        words.append(tmp_path / "card")
    code, _, text = run(*words)
    assert not canary.imported
    assert code == 2
    assert text.count("\n") == 1
    advised = re.search(r"if you trust this file, run policy-inertia (.*)\n", text)
    assert advised, text
    trusting = shlex.split(advised[1])
    assert trusting == [*map(str, words), "--trust"]
    assert run(*trusting).code == 0
    assert canary.imported


def test_an_env_of_the_command_line_needs_no_trust(
    run: Run, downloaded: Path, canary: Canary
) -> None:
    words = ("evaluate", downloaded, "--episodes", 1, "--json", "--env")
    assert run(*words, "CartPole-v1").code == 0
    assert not canary.imported
    assert run(*words, canary.env).code == 0
    assert canary.imported


def test_arguments_in_a_policy_file_open_nothing_without_trust(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    fresh().replace(task="CartPole-v1", env_kwargs={"map": "../x.txt"}).save(path)
    code, _, text = run("evaluate", path, "--episodes", 1)
    assert code == 2
    assert f"{path} gives the environment map='../x.txt', which may be a path" in text
    assert f"run policy-inertia evaluate {path} --episodes 1 --trust\n" in text
    assert "unexpected keyword argument 'map'" in run("evaluate", path, "--trust").err
    assert "map='../x.txt'" in run("evaluate", path, "--env", "CartPole-v1").err


def test_a_report_records_no_env_that_study_json_names(
    run: Run, downloaded_study: Path, canary: Canary
) -> None:
    code, out, text = run("report", downloaded_study)
    assert not canary.imported
    assert code == 0
    assert "Report: " in out
    advised = f"run policy-inertia report '{downloaded_study}' --trust\n"
    assert text.endswith(advised)
    assert "would import the module" in (downloaded_study / "report.html").read_text()
    assert run("report", downloaded_study, "--trust").code == 0
    assert canary.imported


def test_at_budget_makes_no_env_that_study_json_names(
    run: Run, downloaded_study: Path, canary: Canary
) -> None:
    code, _, text = run("at-budget", downloaded_study)
    assert not canary.imported
    assert code == 2
    assert text.endswith(f"run policy-inertia at-budget '{downloaded_study}' --trust\n")
    assert run("at-budget", downloaded_study, "--trust").code == 0
    assert canary.imported


def test_a_study_goes_on_with_its_own_env_in_a_downloaded_folder(
    run: Run, downloaded_study: Path, canary: Canary, tmp_path: Path
) -> None:
    """Experiments that only study.json has are shown, but their envs are not made."""
    study = downloaded_study / "study.json"
    about = json.loads(study.read_text())
    about["experiments"][0]["name"] = "older"
    study.write_text(json.dumps(about))
    for file in downloaded_study.rglob("run.json"):
        file.write_text(file.read_text().replace(canary.env, "CartPole-v1"))
    plan = quick(**SHORT, methods=["dqn"])
    results = run_study(plan, downloaded_study, Workers(1))
    assert [type(e.lines[0].env) is str for e in results.experiments] == [False, True]
    assert not canary.imported


def test_a_study_of_the_users_own_env_needs_no_trust(
    run: Run, canary: Canary, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        f"""seeds = 1
        tasks = ["{canary.env}"]
        [settings]
        {"; ".join(f"{k} = {v}" for k, v in SHORT.items()).replace("; ", chr(10))}
        [methods.DQN]
        method = "dqn"
        [methods.NSAC]
        method = "nsac"
        """
    )
    code, _, text = run("study", file, "--jobs", 1, "--quiet", "--out", tmp_path / "study")
    assert (code, text) == (0, "")
    assert canary.imported
    page = (tmp_path / "study" / "report.html").read_text()
    assert "was not recorded" not in page
    assert "could not be recorded" not in page
    assert "from the same start" in page


@pytest.mark.parametrize(
    "use",
    [
        lambda policy, out: calibrate(policy, episodes=1),
        lambda policy, out: evaluate(policy, policy.task, 1),
        lambda policy, out: evaluate(policy.core(), policy.core().task, 1),
        lambda policy, out: model_card(policy, out, episodes=1),
        lambda policy, out: train("dqn", policy.task, out, **SHORT),
        lambda policy, out: compare(["dqn"], policy.task, 1, out, **SHORT),
        lambda policy, out: load_core(policy, policy.task),
        lambda policy, out: Policy.load(out.parent / "around.safetensors", core=fresh("dqn")),
    ],
)
def test_python_calls_refuse_what_a_policy_file_names(
    use: Any, downloaded: Path, canary: Canary, tmp_path: Path
) -> None:
    from policy_inertia import smooth

    small: dict[str, Any] = {"hysteresis_only": True, "episodes": 2, "calibration_episodes": 1}
    bare = smooth(fresh("dqn"), "CartPole-v1", **small).candidates["core"].policy
    bare.replace(task=canary.env).save(tmp_path / "around.safetensors")
    with pytest.raises(InputError, match=r"load it with Policy.load\('.*', trust=True\)"):
        use(Policy.load(downloaded), tmp_path / "out")
    assert not canary.imported
    assert not (tmp_path / "out" / "run.json").exists()


def test_python_trusts_a_policy_file_when_it_is_loaded(downloaded: Path, canary: Canary) -> None:
    assert calibrate(Policy.load(downloaded, trust=True), episodes=1).calibration is not None
    assert canary.imported


def test_a_worker_is_told_that_a_run_comes_from_a_file(
    downloaded_study: Path, canary: Canary, tmp_path: Path
) -> None:
    line = collect(downloaded_study).experiments[0].lines[0]
    config = settings("dqn", line.env, **SHORT)
    job = json.loads(json.dumps(job_of(StudyRun("x", config, tmp_path / "run"))))
    assert "would import the module" in str(attempt(job).error)
    assert not canary.imported
    own = job_of(StudyRun("x", settings("dqn", canary.env, **SHORT), tmp_path / "run"))
    assert attempt(json.loads(json.dumps(own))).error is None
    assert canary.imported
