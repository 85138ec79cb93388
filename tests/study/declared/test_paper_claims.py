"""The paper's claims, and the page that is made from the committed records."""

from pathlib import Path

from policy_inertia.study.analysis.claims import Side
from policy_inertia.study.declared.paper import STUDY
from policy_inertia.study.declared.paper_claims import CLAIMS, FIT_CLAIMS, INERTIA, paper_page
from policy_inertia.study.report.verdict_files import with_table
from tests.support.pictures import is_made_again

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def test_claims_are_about_lines_of_the_study_and_leave_no_experiment_out() -> None:
    lines = {Side(e.name, x.task.name, x.label) for e, x in STUDY.lines()}
    sides = {side for claim in CLAIMS for side in claim.sides}
    assert sides | {side for claim in FIT_CLAIMS for side in claim.sides} <= lines
    assert {side.experiment for side in sides} == {e.name for e in STUDY.experiments}


def test_both_ways_to_learn_the_inertia_are_run_where_the_page_compares_them() -> None:
    for experiment, task in INERTIA:
        (one,) = [e for e in STUDY.experiments if e.name == experiment]
        assert {"SAC", "NSAC", "NSAC, closed form"} <= {
            x.label for x in one.lines if x.task.name == task
        }
        assert one.hysteresis


def test_the_page_and_the_table_in_the_docs_are_made_from_the_records() -> None:
    """After new records: policy-inertia verdict."""
    page = paper_page(ROOT / "results" / "paper")
    assert (DOCS / "paper.md").read_text() == page.text
    overview = (DOCS / "results.md").read_text()
    assert with_table(overview, page.table) == overview
    for name, data in page.pictures.items():
        assert is_made_again(data, DOCS / "images" / name), name
