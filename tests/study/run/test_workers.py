import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.study.plan import Run
from policy_inertia.study.results import Results
from policy_inertia.study.run import workers
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.study.run.workers import Worker, Workers
from tests.support.runs import newest
from tests.support.tiny_studies import run_files, tiny, under_way, wait_for

TOML = """
steps = 1600
eval_every = 200
eval_episodes = 2
final_episodes = 4
seeds = 2
learning_starts = 200
hysteresis = [0.05]
budgets = [0.3]
methods = ["dqn", "nsac"]
[settings]
checkpoint_seconds = 0
[tasks.Two-Way]
env = "policy_inertia/TwoWay-v0"
"""


def test_a_killed_worker_costs_only_time(undisturbed: tuple[Path, Results], tmp_path: Path) -> None:
    out, pool = tmp_path / "s", Workers(1)
    killed: list[Worker] = []

    def kill_once(runs: Sequence[Run]) -> None:
        if not killed and under_way(out):
            (busy,) = pool.busy
            killed.append(busy)
            busy.process.kill()

    results = run_study(tiny(), out, pool, kill_once)
    assert killed
    assert results.failed == []
    assert run_files(out) == run_files(undisturbed[0])


def test_the_workers_of_a_killed_study_end_and_the_same_command_goes_on(
    undisturbed: tuple[Path, Results], tmp_path: Path
) -> None:
    out, file = tmp_path / "s", tmp_path / "tiny.toml"
    file.write_text(TOML)
    command = [sys.executable, "-m", "policy_inertia", "study", str(file), "--out", str(out)]
    command += ["--jobs", "2"]
    study = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: under_way(out))
    processes = Path(f"/proc/{study.pid}/task/{study.pid}/children")
    children = [int(pid) for pid in processes.read_text().split()]
    assert children
    study.kill()
    study.wait()
    wait_for(lambda: not any(_alive(pid) for pid in children), 60)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert run_files(out) == run_files(undisturbed[0])
    assert "policy-inertia study" in (out / "report.html").read_text()


def test_ctrl_c_lets_the_runs_of_a_study_save_themselves(
    undisturbed: tuple[Path, Results], tmp_path: Path
) -> None:
    out, file = tmp_path / "s", tmp_path / "tiny.toml"
    seldom = TOML.replace("checkpoint_seconds = 0", "checkpoint_seconds = 600")
    file.write_text(seldom.replace('"dqn", "nsac"', '"nsac"').replace("seeds = 2", "seeds = 1"))
    command = [sys.executable, "-m", "policy_inertia", "study", str(file), "--out", str(out)]
    study = subprocess.Popen(
        [*command, "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def evaluations() -> int:
        return sum(len(p.read_text().splitlines()) for p in out.rglob("metrics.jsonl"))

    wait_for(lambda: evaluations() >= 2)
    os.killpg(study.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, text = study.communicate()
    assert study.returncode == 128 + signal.SIGINT
    assert "the same command goes on" in text
    (run,) = (p.parent for p in out.rglob("run.json"))
    saved = int(newest(run).name.removeprefix("checkpoint-"))
    assert 200 <= saved < 1_600
    done = subprocess.run([*command, "--no-report"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert run_files(out).items() <= run_files(undisturbed[0]).items()


def test_worker_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "GRACE", 0.0)
    pool = Workers(1)
    pool.submit(tiny().runs(tmp_path)[0])
    (busy,) = pool.busy
    pool.close()
    assert busy.process.returncode == -signal.SIGKILL


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"


def test_less_than_one_run_at_a_time_is_refused() -> None:
    with pytest.raises(InputError, match="jobs is 0"):
        Workers(0)
