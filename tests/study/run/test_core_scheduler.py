"""A tiny study around a policy of Stable-Baselines3, from the core's training to its record."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.calibration.all_filters import RULES
from policy_inertia.study.core_plan import Cell, Core, CoreStudy
from policy_inertia.study.core_records import RECORD, CoreRecords, read_core_record
from policy_inertia.study.run import core_scheduler
from policy_inertia.study.run.core_job import core_job, execute
from policy_inertia.study.run.core_scheduler import run_core_study

PPO = {"n_steps": 32, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}}
CORE = Core("PPO", "Pendulum-v1", 64, 1, PPO, {"max_episode_steps": 20})
STUDY = CoreStudy(
    "tiny", "One cell", (Cell("p", "P", CORE, "filters", (0.5, 0.001), 2, 2),), seeds=(3,)
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    watched: list[str] = []
    runs = run_core_study(
        STUDY,
        folder / "out",
        CoreRecords(folder / "records", writable=True),
        1,
        lambda runs: watched.extend(r.state for r in runs),
    )
    assert [(r.state, r.error) for r in runs] == [("done", None)]
    assert {"running", "done"} <= set(watched)
    assert set(runs[0].figures) == {"eval/return", "eval/action_fluctuation"}
    return folder


def test_a_record_has_every_filter_at_every_budget_and_how_it_was_made(finished: Path) -> None:
    record = read_core_record(finished / "records" / "p" / "seed-3.json")
    assert record.config["core"]["settings"] == PPO
    assert {"stable-baselines3", "sb3-contrib", "torch", "jax"} <= set(record.versions)
    assert set(record.cpu_seconds) == {"core", "measured"}
    figures = record.figures
    assert set(figures["filters"]) == set(figures["curves"]) == set(RULES)
    assert figures["budgets"]["0.5"] == 500 * figures["budgets"]["0.001"] > 0
    for name, levels in figures["filters"].items():
        assert set(levels) == {"0.5", "0.001"}
        for values in levels.values():
            if "unreachable" in values:
                assert "is not reachable" in values["unreachable"]
            else:
                assert set(values) == {
                    "setting",
                    "return",
                    "action_fluctuation",
                    "jerk",
                    "length",
                }
                assert values["setting"] in figures["curves"][name]["setting"]
    assert figures["random"]["action_fluctuation"] > figures["core"]["action_fluctuation"]
    assert figures["core"]["length"] == 20  # the arguments of the env


def test_a_finished_record_is_not_made_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(runs: list[Any], *others: Any) -> None:
        assert [r.state for r in runs] == ["done"]

    monkeypatch.setattr(core_scheduler, "carry_out", refuse)
    run_core_study(STUDY, tmp_path, CoreRecords(finished / "records"))
    run_core_study(STUDY, finished / "out", CoreRecords(tmp_path / "new", writable=True))
    assert (tmp_path / "new" / "p" / "seed-3.json").exists()  # a copy of the folder's own record


def test_a_killed_run_goes_on_with_its_trained_core(finished: Path) -> None:
    run = STUDY.runs(finished / "out")[0]
    core, before = run.path / "core.zip", read_core_record(run.path / RECORD)
    trained = core.stat().st_mtime_ns
    (run.path / RECORD).unlink()
    execute(core_job(run))
    again = read_core_record(run.path / RECORD)
    assert core.stat().st_mtime_ns == trained
    assert again.figures == before.figures
    assert "core" not in again.cpu_seconds


def test_other_settings_are_refused_before_anything_runs(finished: Path) -> None:
    other = STUDY.scaled(0.9)
    with pytest.raises(InputError, match="other settings: give another folder with --out"):
        run_core_study(other, finished / "out", CoreRecords(finished / "none"))
    with pytest.raises(InputError, match="other settings: give another folder with --records"):
        run_core_study(other, finished / "o", CoreRecords(finished / "records", writable=True))


def test_a_missing_library_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name.split(".")[0] == "sb3_contrib":
            raise ImportError(name)
        return load(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'policy-inertia\[sb3\]'"):
        run_core_study(STUDY, tmp_path / "out", CoreRecords(tmp_path))
    assert not (tmp_path / "out").exists()
