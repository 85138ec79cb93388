import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from policy_inertia import InputError, Policy, calibrate, evaluate
from policy_inertia.cli import main as cli
from policy_inertia.envs.vector import episode_seed
from policy_inertia.study.folder import collect
from policy_inertia.study.results import Series
from policy_inertia.study.run.scheduler import Run, Workers, run_study
from policy_inertia.study.toml import study_from_dict
from policy_inertia.training.session import FINAL
from tests.support.runs import contents

TINY = {
    "name": "tiny",
    "seeds": 2,
    "steps": 1_600,
    "eval_every": 200,
    "eval_episodes": 2,
    "final_episodes": 4,
    "learning_starts": 200,
    "settings": {"checkpoint_seconds": 0},
    "hysteresis": [0.05],
    "budgets": [0.3],
    "methods": ["dqn", "nsac"],
    "tasks": {"Two-Way": {"env": "policy_inertia/TwoWay-v0"}},
}
QUICK = TINY | {
    "methods": ["dqn"],
    "seeds": 1,
    "tasks": ["CartPole-v1"],
    "hysteresis": [],
    "budgets": [],
}


def tiny():
    return study_from_dict(TINY, "tiny")


def quick(**changes):
    return study_from_dict(QUICK | changes, "tiny")


def figures(folder: Path) -> dict[str, dict[str, bytes]]:
    """All that a study measured, byte for byte."""
    runs = sorted(p.parent for p in folder.rglob("run.json"))
    names = [str(r.relative_to(folder)) for r in runs]
    return {
        name: contents(r) | {k: (r / f"{k}.json").read_bytes() for k in ("hysteresis", "budgets")}
        for name, r in zip(names, runs, strict=True)
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "s"
    return out, run_study(tiny(), out, Workers(1), command="policy-inertia study tiny.toml")


def test_study_gathers_every_run(undisturbed):
    out, found = undisturbed
    (experiment,) = found.experiments
    assert [s.label for s in experiment.series] == ["dqn", "nsac"]
    assert (found.failed, found.command) == ([], "policy-inertia study tiny.toml")
    assert found.versions["policy-inertia"]
    for s in experiment.series:
        assert (s.task, s.env, s.seeds) == ("Two-Way", "policy_inertia/TwoWay-v0", [0, 1])
        assert [r["step"] for r in s.curves[0]] == list(range(0, 1_601, 200))
        assert s.results[1] == json.loads((s.folders[1] / "result.json").read_text())
        assert contents(s.folders[0]) != contents(s.folders[1])
        plain, filtered = s.results[0]["greedy"], s.hysteresis[0.05][0]["greedy"]
        assert filtered["oscillation_ratio"] <= plain["oscillation_ratio"]
        _check_budget(s)
    assert not list(out.rglob("checkpoint-*"))  # a finished run keeps no replay


def _check_budget(s: Series) -> None:
    """What was kept for a budget is what calibrating and evaluating by hand gives."""
    kept = s.budgets[0.3][0]
    policy = calibrate(Policy.load(s.folders[0]), episodes=50, seed=0)
    try:
        held = policy.with_budget(0.3)
    except InputError:
        assert "is not reachable" in kept["unreachable"]
        return
    by_hand = evaluate(held, s.env, 4, episode_seed(0, FINAL), deterministic=True).summary()
    assert kept["greedy"] == by_hand
    assert kept["calibrated_return"] == policy.calibration.within(0.3).figures["return"]


def test_core_of_a_dial_is_held_to_the_same_budgets_by_hysteresis(tmp_path):
    found = run_study(quick(methods=["dial-dqn"], budgets=[0.3]), tmp_path)
    (s,) = found.experiments[0].series
    kept = s.core_budgets[0.3][0]
    core = calibrate(Policy.load(s.folders[0]).core(), "CartPole-v1", episodes=50, seed=0)
    held = core.with_budget(0.3)
    by_hand = evaluate(held, s.env, 4, episode_seed(0, FINAL), deterministic=True).summary()
    assert held.hysteresis is not None
    assert kept["greedy"] == by_hand


def test_command_reports_a_study(undisturbed, tmp_path, monkeypatch, capfd):
    out, _ = undisturbed
    words = ["policy-inertia", "report", str(out), "--out", str(tmp_path / "r" / "all.html")]
    monkeypatch.setattr(sys, "argv", words)
    cli.main()
    assert "all.html (0." in capfd.readouterr().out.replace("\n", "")
    text = (tmp_path / "r" / "all.html").read_text()
    assert "policy-inertia study tiny.toml" in text
    assert "data:image/webp" in text  # the inspector has frames
    assert "dqn + hysteresis 0.05" in text
    assert len(json.loads((tmp_path / "r" / "summary.json").read_text())["rows"]) == 9


def test_runs_of_different_versions_are_told(undisturbed, tmp_path, monkeypatch, capfd):
    out = Path(shutil.copytree(undisturbed[0], tmp_path / "s"))
    about = next(out.rglob("run.json"))
    old = json.loads(about.read_text())
    old["versions"]["jax"] = "0.1.0"
    about.write_text(json.dumps(old))
    monkeypatch.setattr(sys, "argv", ["policy-inertia", "report", str(out), "--no-inspect"])
    cli.main()
    assert "made by different versions (jax 0.1.0, " in capfd.readouterr().err


def test_run_of_a_study_is_the_run_one_would_start_alone(undisturbed, tmp_path):
    from policy_inertia.training.loop import run

    out, _ = undisturbed
    (one,) = [r for r in tiny().runs(out) if (r.config.method, r.config.seed) == ("nsac", 1)]
    run(one.config, tmp_path / "alone")
    assert contents(tmp_path / "alone") == contents(one.path)


def test_finished_study_is_only_gathered_again(undisturbed):
    out, found = undisturbed
    stamps = {p: p.stat().st_mtime_ns for p in out.rglob("policy.safetensors")}
    again = run_study(tiny(), out)
    assert stamps == {p: p.stat().st_mtime_ns for p in out.rglob("policy.safetensors")}
    assert again.experiments == found.experiments == collect(out).experiments


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def under_way(out: Path) -> bool:
    """Whether a run has passed its second checkpoint and is not at its end."""
    try:
        names = [json.loads(p.read_text())["checkpoint"] for p in out.rglob("latest.json")]
    except FileNotFoundError:  # a run has ended between two looks
        return False
    return any(200 <= int(name.removeprefix("checkpoint-")) < 1_400 for name in names)


def test_killed_worker_costs_nothing_but_time(undisturbed, tmp_path):
    out, pool, killed = tmp_path / "s", Workers(1), []

    def kill_once(runs: list[Run]) -> None:
        if not killed and under_way(out):
            (busy,) = pool.busy
            killed.append(busy)
            busy.process.kill()

    found = run_study(tiny(), out, pool, kill_once)
    assert killed
    assert found.failed == []
    assert figures(out) == figures(undisturbed[0])


def test_killed_runner_takes_its_workers_along_and_the_same_command_goes_on(undisturbed, tmp_path):
    out, file = tmp_path / "s", tmp_path / "tiny.toml"
    file.write_text(
        "steps = 1600\neval_every = 200\neval_episodes = 2\nfinal_episodes = 4\nseeds = 2\n"
        'learning_starts = 200\nhysteresis = [0.05]\nbudgets = [0.3]\nmethods = ["dqn", "nsac"]\n'
        "[settings]\ncheckpoint_seconds = 0\n"
        '[tasks.Two-Way]\nenv = "policy_inertia/TwoWay-v0"\n'
    )
    words = [sys.executable, "-m", "policy_inertia", "study", str(file), "--out", str(out)]
    runner = subprocess.Popen([*words, "--jobs", "2"], stdout=subprocess.DEVNULL)
    until(lambda: under_way(out))
    tasks = Path(f"/proc/{runner.pid}/task/{runner.pid}/children")
    children = [int(pid) for pid in tasks.read_text().split()]
    assert children
    runner.kill()
    runner.wait()
    until(lambda: not any(_alive(pid) for pid in children), 10)
    done = subprocess.run([*words, "--jobs", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert figures(out) == figures(undisturbed[0])
    assert "policy-inertia study" in (out / "report.html").read_text()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"


def test_ray_cluster_gives_the_same_numbers_though_a_worker_is_killed(undisturbed, tmp_path):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    from policy_inertia.study.run.ray import RayPool

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        out, killed = tmp_path / "s", []

        def kill_once(runs: list[Run]) -> None:
            if not killed and under_way(out):
                found = subprocess.run(
                    ["pgrep", "-f", "^ray::attempt"], capture_output=True, text=True
                )
                for pid in map(int, found.stdout.split()[:1]):
                    killed.append(pid)
                    os.kill(pid, signal.SIGKILL)

        pool = RayPool(cluster.address)
        assert pool.room() == 2
        found = run_study(tiny(), out, pool, kill_once)
        assert killed
        assert found.failed == []
        assert figures(out) == figures(undisturbed[0])
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_run_that_fails_twice_is_told_and_the_others_go_on(tmp_path):
    study = quick(seeds=2)
    broken = study.runs(tmp_path / "s")[0].path
    run_study(study_from_dict(QUICK | {"seeds": [1]}, "tiny"), tmp_path / "s")
    broken.mkdir(parents=True)
    (broken / "mine.txt").write_text("keep")
    seen = []
    found = run_study(study, tmp_path / "s", watch=lambda runs: seen.append(runs[0].tries))
    assert [s.seeds for s in found.experiments[0].series] == [[1]]
    ((label, error),) = found.failed
    assert label == "CartPole-v1, dqn, seed 0"
    assert "is not empty and holds no run" in error
    assert max(seen) == 2
    assert (broken / "mine.txt").read_text() == "keep"
    told = json.loads((tmp_path / "s" / "failed.json").read_text())["failed"]
    assert "Traceback" in told[0]["traceback"]


def test_second_runner_on_a_folder_is_refused(tmp_path):
    refused: list[str] = []

    def second(runs: list[Run]) -> None:
        if not refused:
            with pytest.raises(InputError, match="in use by another process") as told:
                run_study(quick(), tmp_path / "s")
            refused.append(str(told.value))

    run_study(quick(), tmp_path / "s", watch=second)
    assert refused


def test_folder_belongs_to_one_study_with_one_schedule(tmp_path):
    run_study(quick(), tmp_path / "s")
    with pytest.raises(InputError, match="holds the study 'tiny', not 'other'"):
        run_study(quick(name="other"), tmp_path / "s")
    with pytest.raises(InputError, match="was started with eval_every=200, not 400"):
        run_study(quick(eval_every=400), tmp_path / "s")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="not empty and holds no study"):
        run_study(quick(), tmp_path / "full")


def test_experiments_and_seeds_are_added_to_what_is_there(tmp_path):
    first = quick(experiments=[{"name": "a"}])
    run_study(first, tmp_path / "s")
    both = run_study(quick(experiments=[{"name": "b"}], seeds=2), tmp_path / "s")
    assert [(e.name, e.series[0].seeds) for e in both.experiments] == [("a", [0]), ("b", [0, 1])]


def test_bad_env_is_said_before_anything_is_started(tmp_path):
    with pytest.raises(InputError, match="did you mean 'CartPole-v1'"):
        run_study(quick(tasks=["CartPole-v11"]), tmp_path / "s")
    with pytest.raises(InputError, match="needs Discrete actions"):
        run_study(quick(tasks=["Pendulum-v1"]), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_folders_that_hold_no_results_are_told_apart(tmp_path):
    with pytest.raises(InputError, match="holds no study"):
        collect(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match=r"study\.json"):
        collect(tmp_path)
    (tmp_path / "study.json").write_text('{"format": 2, "name": "x"}')
    with pytest.raises(InputError, match="'experiments' is missing"):
        collect(tmp_path)
    about = {"title": "t", "about": "", "command": "", "experiments": []}
    (tmp_path / "study.json").write_text(json.dumps({"format": 2, "name": "x", **about}))
    with pytest.raises(InputError, match="no finished run yet"):
        collect(tmp_path)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at '127.0.0.1:1'"),
        ("here:there", "is no address of a Ray cluster"),
    ],
)
def test_ray_that_does_not_answer_is_one_sentence(address, says):
    pytest.importorskip("ray")
    from policy_inertia.study.run.ray import RayPool

    with pytest.raises(InputError, match=says):
        RayPool(address)


def test_nobody_runs_less_than_one_at_a_time():
    with pytest.raises(InputError, match="jobs is 0"):
        Workers(0)
