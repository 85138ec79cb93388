from pathlib import Path

from policy_inertia.study.core_records import CoreRecords
from policy_inertia.study.declared.continuous_filters import BUDGETS, STUDY
from policy_inertia.study.report.core_page import core_page
from policy_inertia.study.run.core_job import MEASUREMENTS

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "filters"


def test_every_core_is_measured_at_the_same_budgets_on_seeds_not_used_for_choosing() -> None:
    assert [cell.core.env for cell in STUDY.cells] == [
        "Pendulum-v1",
        "LunarLanderContinuous-v3",
        "Reacher-v5",
        "Hopper-v5",
    ]
    assert min(STUDY.seeds) == 100
    assert len(STUDY.seeds) == 5
    for cell in STUDY.cells:
        assert cell.budgets == BUDGETS
        assert cell.measured in MEASUREMENTS


def test_the_tables_in_the_docs_are_made_from_the_records() -> None:
    records, runs = CoreRecords(RESULTS), STUDY.runs(Path("runs/filters"))
    assert [run.label for run in runs if records.read(run) is None] == []
    assert set(RESULTS.rglob("*.json")) == {records.file(run) for run in runs}
    page = (ROOT / "docs" / "filters.md").read_text()
    assert core_page(STUDY, records.by_cell(runs)).strip() in page
