"""Records: runs as small files, from which a study goes on without training."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.study.folder import finished
from policy_inertia.study.plan import Run, Study
from policy_inertia.study.report.page import write
from policy_inertia.study.results import Results
from policy_inertia.study.run import scheduler
from policy_inertia.study.run.duration import remaining
from policy_inertia.study.run.job import Outcome
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.study.run_records import (
    Records,
    read_record,
    recorded_results,
    restore,
    write_record,
)
from policy_inertia.study.toml import study_from_dict
from tests.support.tiny_studies import COMMAND, TINY, quick, tiny


class NoPool:
    """A pool in which nothing may run."""

    def free(self) -> int:
        return 1

    def submit(self, run: Run) -> None:
        raise AssertionError(f"{run.label} was carried out")

    def outcomes(self, seconds: float) -> list[tuple[Run, Outcome]]:
        return []

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def recorded(
    undisturbed: tuple[Path, Results], tmp_path_factory: pytest.TempPathFactory
) -> Records:
    """The records of the study `tiny`."""
    records = Records(tmp_path_factory.mktemp("records"), writable=True)
    run_study(tiny(), undisturbed[0], NoPool(), command=COMMAND, records=records)
    return records


def test_a_study_is_collected_and_reported_from_its_records_alone(
    undisturbed: tuple[Path, Results],
    recorded: Records,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(*args: Any) -> None:
        raise AssertionError("an env was made")

    monkeypatch.setattr(scheduler, "make_vector", make)
    results = run_study(tiny(), tmp_path / "s", NoPool(), records=Records(recorded.path))
    for x, y in zip(results.experiments[0].lines, undisturbed[1].experiments[0].lines, strict=True):
        assert (x.seeds, x.results, x.hysteresis) == (y.seeds, y.results, y.hysteresis)
        assert (x.config, x.budgets) == (y.config, y.budgets)
        for row, full in zip(x.curves[0], y.curves[0], strict=True):
            assert row["step"] == full["step"]
            assert row["eval/return"] == pytest.approx(full["eval/return"], rel=1e-5)
    page = write(results, tmp_path / "report.html").read_text()
    assert "Two-Way could not be recorded: the policy of dqn is not there" in page
    assert 'id="curves"' in page
    assert not list((tmp_path / "s").rglob("*.safetensors"))


def test_results_are_read_from_records_without_a_folder_of_runs(
    undisturbed: tuple[Path, Results], recorded: Records
) -> None:
    results = recorded_results(tiny(), recorded)
    for x, y in zip(results.experiments[0].lines, undisturbed[1].experiments[0].lines, strict=True):
        assert (x.label, x.task, x.seeds, x.results) == (y.label, y.task, y.seeds, y.results)
        assert (x.hysteresis, x.budgets) == (y.hysteresis, y.budgets)
        assert [r["step"] for r in x.curves[1]] == [r["step"] for r in y.curves[1]]
    none = recorded_results(tiny(), Records(recorded.path / "nothing"))
    assert [x.seeds for x in none.experiments[0].lines] == [[], []]


def test_a_run_that_another_study_has_recorded_is_not_trained_or_recorded_again(
    recorded: Records, tmp_path: Path
) -> None:
    both = Records(tmp_path / "own", writable=True, further=(recorded.path,))
    results = run_study(tiny(), tmp_path / "s", NoPool(), records=both)
    assert [x.seeds for x in results.experiments[0].lines] == [[0, 1], [0, 1]]
    assert not (tmp_path / "own").exists()


def test_a_record_is_small_and_holds_what_is_needed_to_make_the_run_again(
    undisturbed: tuple[Path, Results], recorded: Records
) -> None:
    files = sorted(str(f.relative_to(recorded.path)) for f in recorded.path.rglob("*.json"))
    assert files[-1] == "TwoWay-v0/nsac/seed-1.json"
    assert len(files) == 4
    record = read_record(recorded.path / files[-1])
    run = undisturbed[0] / "runs" / "TwoWay-v0" / "nsac" / "seed-1"
    about = json.loads((run / "run.json").read_text())
    assert record.config == about["config"]
    assert (record.versions, record.commit) == (about["versions"], about["commit"])
    assert record.curve["step"] == [0, 200, 400, 600, 800, 1000, 1200, 1400, 1600]
    assert (record.curve["train/updates"][-1] or 0) > 0
    assert list(record.hysteresis or {}) == ["0.05"]
    assert (recorded.path / files[-1]).stat().st_size < 7_000
    assert all(len(repr(x)) <= 12 for x in record.curve["eval/return"])


def test_a_restored_run_gives_the_same_record(recorded: Records, tmp_path: Path) -> None:
    file = next(recorded.path.rglob("seed-0.json"))
    restore(read_record(file), tmp_path / "run")
    assert finished(tmp_path / "run", 1_600)
    assert write_record(tmp_path / "run", tmp_path / "again.json").read_bytes() == file.read_bytes()


def test_a_run_that_was_killed_while_it_was_restored_is_restored_again(
    recorded: Records, tmp_path: Path
) -> None:
    run_study(tiny(), tmp_path, NoPool(), records=recorded)
    (run, *_) = tiny().runs(tmp_path)
    (run.path / "result.json").unlink()  # it is written last
    run_study(tiny(), tmp_path, NoPool(), records=recorded)
    assert finished(run.path, 1_600)


def test_runs_write_records_and_only_those_without_one_are_carried_out(tmp_path: Path) -> None:
    records = Records(tmp_path / "records", writable=True)
    run_study(quick(), tmp_path / "a", records=records)
    file = tmp_path / "records" / "CartPole-v1" / "dqn" / "seed-0.json"
    assert file.exists()
    assert [x.runs for x in remaining(quick(seeds=2), tmp_path / "b", records=records)] == [1]
    states = []
    run_study(
        quick(seeds=2),
        tmp_path / "b",
        watch=lambda runs: states.append([r.tries for r in runs]),
        records=Records(tmp_path / "records"),
    )
    assert states[-1] == [0, 1]
    assert not file.with_name("seed-1.json").exists()  # a folder that is only read


def test_a_record_with_other_settings_is_not_used_and_never_overwritten(
    tmp_path: Path, recorded: Records
) -> None:
    longer = study_from_dict(TINY | {"eval_every": 100}, "tiny")
    run = longer.runs(tmp_path)[0]
    assert recorded.file(run).exists()
    assert not Records(recorded.path).has(run)
    with pytest.raises(InputError, match=r"other settings \(eval_every\).*--records"):
        run_study(longer, tmp_path / "s", NoPool(), records=recorded)
    assert not (tmp_path / "s").exists()
    saving = study_from_dict(TINY | {"settings": {"checkpoint_seconds": 9}}, "tiny")
    assert recorded.has(saving.runs(tmp_path)[0])  # it cannot change a figure


def test_a_setting_that_came_after_a_record_had_the_papers_value(tmp_path: Path) -> None:
    paper = quick(seeds=1, settings={"preset": "paper"})
    records = Records(tmp_path / "records", writable=True)
    run_study(paper, tmp_path / "a", records=records)
    run = paper.runs(tmp_path)[0]
    file = records.file(run)
    record = json.loads(file.read_text())
    del record["config"]["normalise"]
    file.write_text(json.dumps(record))
    assert records.has(run)
    for _ in range(2):  # the second time the restored folder is there
        results = run_study(paper, tmp_path / "b", NoPool(), records=Records(records.path))
        assert results.experiments[0].lines[0].config["normalise"] is False
    changed = quick(seeds=1, settings={"preset": "paper", "normalise": True}).runs(tmp_path)[0]
    records.file(changed).parent.mkdir(parents=True)
    file.rename(records.file(changed))
    assert not records.has(changed)


def test_a_record_that_lacks_an_evaluation_is_made_anew(tmp_path: Path) -> None:
    records = Records(tmp_path / "records", writable=True)
    run_study(quick(), tmp_path / "a", records=records)
    shutil.rmtree(tmp_path / "a")
    run_study(quick(), tmp_path / "a", NoPool(), records=records)  # restored: it has no policy
    study: Study = quick(hysteresis=[0.1])
    assert not records.has(study.runs(tmp_path / "a")[0])
    results = run_study(study, tmp_path / "a", records=records)
    assert not results.failed
    assert list(results.experiments[0].lines[0].hysteresis) == [0.1]
    assert records.has(study.runs(tmp_path / "a")[0])


def test_a_file_that_is_no_record_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (run,) = quick().runs(tmp_path / "s")
    records = Records(tmp_path)
    records.file(run).parent.mkdir(parents=True)
    records.file(run).write_text('{"format": 2, "config": {}}')
    with pytest.raises(InputError, match="cannot be used: versions is missing"):
        run_study(quick(), tmp_path / "s", NoPool(), records=records)
