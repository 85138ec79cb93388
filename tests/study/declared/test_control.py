"""The study of control as data, and its page."""

from pathlib import Path
from typing import Any

from policy_inertia.study.analysis.at_budget import budget_records, read_records, write_records
from policy_inertia.study.analysis.constant_action import RANDOM
from policy_inertia.study.declared.control import HOLDS, PENALTIES, STUDY
from policy_inertia.study.report.control_page import control_tables, with_tables
from policy_inertia.study.run_records import Records, recorded_results

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "control"
FILE = RESULTS / "records.csv"
STEPS = {
    "Pendulum": 50_000,
    "Reacher": 200_000,
    "Two-Way, steered": 200_000,
    "LunarLander": 300_000,
    "Hopper": 300_000,
}


def test_all_lines_have_the_same_learner_steps_and_network() -> None:
    assert STUDY.seeds == (100, 101, 102, 103, 104)
    for experiment in STUDY.experiments:
        configs = [line.config(STUDY.settings, 100) for line in experiment.lines]
        assert {c.steps for c in configs} == {STEPS[experiment.title]}
        assert {c.actions for c in configs} == {"box"}
        same = {(c.batch_size, c.gamma, c.envs, c.learning_starts, c.normalise) for c in configs}
        assert len(same) == 1
        learners: list[Any] = [c.config for c in configs]
        learners += [c.core for c in learners if hasattr(c, "core")]
        assert {(c.hidden, c.learning_rate, c.train_interval) for c in learners} == {
            ((64, 64), 7e-4, 1)
        }


def test_lines_are_sac_its_rivals_the_inertia_and_the_dials() -> None:
    for experiment in STUDY.experiments:
        methods = [line.method for line in experiment.lines]
        assert methods.count("sac-ip") == len(PENALTIES) == 3
        assert methods.count("sac-repeat") == len(HOLDS)
        others = {"sac", "sac-caps", "sac-asap", "nsac", "dial-sac", "dial-sac-squared"}
        assert set(methods) == others | {"sac-ip", "sac-repeat"}


def test_every_policy_is_held_to_the_same_budgets_and_to_none() -> None:
    for experiment in STUDY.experiments:
        assert experiment.budgets[0] == 1.0
        assert list(experiment.budgets) == sorted(experiment.budgets, reverse=True)
        for line in experiment.lines:
            run = STUDY.run(Path("x"), experiment, line, 100)
            assert run.budgets == experiment.budgets
            dial = line.method.startswith("dial")
            assert run.core_budgets == (experiment.budgets if dial else ())


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(RESULTS)
    runs = [r for r in STUDY.runs(Path("runs/control")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []


def test_page_has_the_tables_of_the_records() -> None:
    """After new records: policy-inertia at-budget results/control --page docs/control-study.md."""
    page = (ROOT / "docs" / "control-study.md").read_text()
    rows = read_records(FILE) if FILE.exists() else []
    assert with_tables(page, control_tables(STUDY, rows)) == page


def test_the_rows_of_the_tables_are_those_of_the_records(tmp_path: Path) -> None:
    results = recorded_results(STUDY, Records(RESULTS))
    if any(line.seeds for e in results.experiments for line in e.lines):
        write_records(tmp_path / "again.csv", budget_records(results))
        again = read_records(tmp_path / "again.csv")
        assert again == [r for r in read_records(FILE) if r.label != RANDOM]
    else:
        assert not FILE.exists()
