import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.study.folder import collect
from policy_inertia.study.plan import Run
from policy_inertia.study.results import Results
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.training.loop import run
from tests.support.runs import contents
from tests.support.tiny_studies import quick, tiny


def test_a_run_of_a_study_is_the_same_as_one_started_alone(
    undisturbed: tuple[Path, Results], tmp_path: Path
) -> None:
    out, _ = undisturbed
    (one,) = [r for r in tiny().runs(out) if (r.config.method, r.config.seed) == ("nsac", 1)]
    run(one.config, tmp_path / "alone")
    assert contents(tmp_path / "alone") == contents(one.path)


def test_a_finished_study_is_only_collected_again(undisturbed: tuple[Path, Results]) -> None:
    out, results = undisturbed
    times = {p: p.stat().st_mtime_ns for p in out.rglob("policy.safetensors")}
    again = run_study(tiny(), out, command=results.command)
    assert times == {p: p.stat().st_mtime_ns for p in out.rglob("policy.safetensors")}
    assert again.experiments == results.experiments == collect(out).experiments


def test_a_run_that_fails_twice_is_listed_and_the_others_go_on(tmp_path: Path) -> None:
    study = quick(seeds=2)
    broken = study.runs(tmp_path / "s")[0].path
    run_study(quick(seeds=[1]), tmp_path / "s")
    broken.mkdir(parents=True)
    (broken / "mine.txt").write_text("keep")
    tries = []
    results = run_study(study, tmp_path / "s", watch=lambda runs: tries.append(runs[0].tries))
    assert [x.seeds for x in results.experiments[0].lines] == [[1]]
    ((label, error),) = results.failed
    assert label == "CartPole-v1, dqn, seed 0"
    assert "is not empty and holds no run" in error
    assert max(tries) == 2
    assert (broken / "mine.txt").read_text() == "keep"
    failures = json.loads((tmp_path / "s" / "failed.json").read_text())["failed"]
    assert "Traceback" in failures[0]["traceback"]


def test_a_second_study_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    messages: list[str] = []

    def start_second(runs: Sequence[Run]) -> None:
        if not messages:
            with pytest.raises(InputError, match="in use by another process") as error:
                run_study(quick(), tmp_path / "s")
            messages.append(str(error.value))

    run_study(quick(), tmp_path / "s", watch=start_second)
    assert messages


def test_a_folder_belongs_to_one_study_with_one_schedule(tmp_path: Path) -> None:
    run_study(quick(), tmp_path / "s")
    with pytest.raises(InputError, match="holds the study 'tiny', not 'other'"):
        run_study(quick(name="other"), tmp_path / "s")
    with pytest.raises(InputError, match="was started with eval_every=200, not 400"):
        run_study(quick(eval_every=400), tmp_path / "s")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="not empty and holds no study"):
        run_study(quick(), tmp_path / "full")


def test_experiments_and_seeds_can_be_added_later(tmp_path: Path) -> None:
    run_study(quick(experiments=[{"name": "a"}]), tmp_path / "s")
    results = run_study(quick(experiments=[{"name": "b"}], seeds=2), tmp_path / "s")
    seeds = [(e.name, e.lines[0].seeds) for e in results.experiments]
    assert seeds == [("a", [0]), ("b", [0, 1])]


def test_a_bad_env_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'CartPole-v1'"):
        run_study(quick(tasks=["CartPole-v11"]), tmp_path / "s")
    with pytest.raises(InputError, match="learns Discrete ones"):
        run_study(quick(tasks=["Pendulum-v1"]), tmp_path / "s")
    assert not (tmp_path / "s").exists()
