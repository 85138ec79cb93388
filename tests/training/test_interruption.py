"""SIGINT and SIGTERM: a run is saved first, and a second signal stops it at once."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.errors import Stopped
from policy_inertia.run_settings import settings
from policy_inertia.smoothing.smooth import smooth
from policy_inertia.training import loop
from policy_inertia.training.checkpoints import Checkpoints
from policy_inertia.training.interruption import Interruption, request_stop
from tests.support import probes
from tests.support.cores import jittery
from tests.support.runs import contents, newest
from tests.support.tiny_studies import wait_for

CONFIG = settings(
    "dial-dqn",
    "CartPole-v1",
    steps=900,  # no multiple of the evaluations: the last one is at the last step
    eval_every=400,
    eval_episodes=2,
    final_episodes=2,
    calibration_episodes=2,
    learning_starts=100,
)


def send(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def sending(real: Callable[..., Any], call: int, number: int) -> Callable[..., Any]:
    """A function that sends a signal in one of its calls, the first of which is 1."""
    calls = 0

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            send(number)
        return real(*args, **kwargs)

    return wrapper


def resume(out: Path, warnings: list[str] | None = None, **options: Any) -> None:
    texts = [] if warnings is None else warnings
    loop.run(CONFIG, out, resume=(out / "run.json").exists(), warn=texts.append, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    resume(out)
    return out


def test_run_that_is_stopped_at_every_kind_of_moment_ends_bit_for_bit_like_a_whole_one(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"

    def stopped(expected: int, number: int, **options: Any) -> None:
        with pytest.raises(Stopped, match=f"stopped at step {expected}, which is saved") as stop:
            resume(out, **options)
        assert stop.value.signal == number
        assert newest(out).name == f"checkpoint-{expected}"

    def in_call(name: str, call: int, expected: int, number: int) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(loop, name, sending(getattr(loop, name), call, number))
            stopped(expected, number)

    def at_step(step: int, number: int) -> dict[str, Any]:
        return {"progress": lambda now, *rest: send(number) if now >= step else None}

    in_call("evaluate", 1, 0, signal.SIGTERM)  # the very first evaluation
    stopped(0, signal.SIGINT, **at_step(0, signal.SIGINT))  # before the first step
    stopped(256, signal.SIGINT, **at_step(1, signal.SIGINT))  # between two evaluations
    in_call("evaluate", 2, 400, signal.SIGINT)  # at the second setting of the dial
    stopped(512, signal.SIGTERM, **at_step(500, signal.SIGTERM))
    in_call("evaluate", 6, 904, signal.SIGTERM)  # the last evaluation, at the last step
    in_call("calibrate", 1, 904, signal.SIGINT)
    in_call("sampled_and_greedy", 1, 904, signal.SIGTERM)
    resume(out)
    assert contents(out) == contents(whole)


def test_second_signal_stops_at_once_and_leaves_the_last_checkpoint(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Stopped, match="stopped at step 256, which is saved"):
        resume(out, progress=lambda step, *rest: send() if step else None)
    with monkeypatch.context() as patch:
        real = Checkpoints.save
        patch.setattr(Checkpoints, "save", sending(real, 1, signal.SIGINT))
        warnings: list[str] = []
        with pytest.raises(Stopped, match=r"before step 512 was saved; .* from step 256"):
            resume(out, warnings, progress=lambda step, *rest: send() if step == 512 else None)
    assert warnings == ["stopping: step 512 is being saved; a second Ctrl-C stops at once"]

    def twice(step: int, *rest: Any) -> None:
        send()
        send()  # nothing of what is between two instructions can be saved

    with pytest.raises(Stopped, match="stopped before step 400 was saved"):
        resume(out, progress=twice)
    assert newest(out).name == "checkpoint-256"
    resume(out)
    assert contents(out) == contents(whole)


def test_training_of_smooth_is_saved_and_goes_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {"budget": 0.1, "steps": 600, "episodes": 4}
    options |= {"calibration_episodes": 2, "env": probes.DeadZone}

    def interrupt(step: int, *rest: Any) -> None:
        if step >= 256:
            send(signal.SIGTERM)

    warnings: list[str] = []
    with pytest.raises(Stopped, match="which is saved"):
        smooth(jittery, out=tmp_path / "a", progress=interrupt, warn=warnings.append, **options)
    smooth(jittery, out=tmp_path / "a", resume=True, warn=warnings.append, **options)
    smooth(jittery, out=tmp_path / "b", **options)
    assert contents(tmp_path / "a" / "controller") == contents(tmp_path / "b" / "controller")
    assert len(warnings) == 1  # "stopping ..."


def test_process_says_what_is_saved_and_ends_with_the_code_of_its_signal(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = f"train sac CartPole-v1 --steps 4000000 --eval-episodes 2 --quiet --out {out}"
    process = subprocess.Popen(
        [sys.executable, "-m", "policy_inertia", *words.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = out / "metrics.jsonl"
    wait_for(lambda: log.exists() and log.stat().st_size > 0)
    assert not (out / "latest.json").exists()  # the first checkpoint is a minute away
    process.terminate()
    _, text = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "which is saved; the same command with --resume goes on from there" in text
    assert (newest(out) / "checksums.json").exists()


# --resume where there is nothing ------------------------------------------------------------------


def test_resuming_what_is_not_there_is_said(tmp_path: Path) -> None:
    warnings: list[str] = []
    config = settings("dqn", "Probe", steps=80, eval_episodes=1, final_episodes=1)
    loop.run(config, tmp_path / "run", probes.Probe, resume=True, warn=warnings.append)
    assert warnings == [
        f"{tmp_path / 'run'} has no checkpoint to resume: the run starts from step 0"
    ]
    loop.run(config, tmp_path / "run", probes.Probe, resume=True, warn=warnings.append)
    assert len(warnings) == 1


# the handlers -------------------------------------------------------------------------------------


def test_handlers_are_put_back_and_those_of_a_program_are_left_alone() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Interruption():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            send(signal.SIGTERM)
            assert not request_stop()
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_signal_in_a_block_that_never_asks_is_raised_at_its_end() -> None:
    interruption = Interruption()
    with pytest.raises(Stopped), interruption:
        send()
    assert interruption.signal == signal.SIGINT


def test_request_is_a_first_signal_and_never_a_second() -> None:
    assert not request_stop()
    interruption = Interruption()
    with pytest.raises(Stopped), interruption:
        assert [request_stop(), request_stop()] == [True, True]
    assert not interruption.hurried


def test_run_in_another_thread_takes_no_signals() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[Any] = []

    def work() -> None:
        with Interruption():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
