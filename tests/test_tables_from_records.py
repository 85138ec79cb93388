"""Every table of the docs that has intervals is made again from committed records."""

import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.study.analysis.at_budget import ACTIONS, Record, at_budgets, read_records
from policy_inertia.study.core_records import CoreRecords
from policy_inertia.study.declared.continuous_filters import STUDY as FILTERS
from policy_inertia.study.declared.control import STUDY as CONTROL
from policy_inertia.study.declared.minatar_claims import minatar_page
from policy_inertia.study.declared.paper_claims import paper_page
from policy_inertia.study.declared.transfer import STUDY as TRANSFER
from policy_inertia.study.report.control_page import control_tables
from policy_inertia.study.report.core_page import core_page
from policy_inertia.study.report.markdown import MEASURED, budget_page, budget_tables, paired_page

ROOT = Path(__file__).parents[1]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"
THIRD = RESULTS / "frontier-third" / "records.csv"
LIMITED = "limit, tuned in a bucket"
NUMBER = r"[-+−]\d[\d.,]*%?"
INTERVAL = re.compile(rf"\d ± \d|\[{NUMBER}, {NUMBER}\]")


def filters() -> str:
    records, runs = CoreRecords(RESULTS / "filters"), FILTERS.runs(Path("runs/filters"))
    return core_page(FILTERS, records.by_cell(runs))


def transfer() -> str:
    records, runs = CoreRecords(RESULTS / "transfer"), TRANSFER.runs(Path("runs/transfer"))
    return core_page(TRANSFER, records.by_cell(runs))


def limits(*studies: str) -> str:
    files = [RESULTS / study / "records.csv" for study in studies]
    return "\n".join(compared(read_records(file), LIMITED) for file in files)


def two_way() -> str:
    """The policies at their budgets; there is no rival with the same steps."""
    rows = at_budgets(read_records(RESULTS / "limit-two-way" / "records.csv"))
    return "\n".join([budget_tables(rows, "greedy"), budget_tables(rows, "greedy", MEASURED)])


def presets() -> str:
    """The default preset beside Stable-Baselines3."""
    spec = spec_from_file_location("presets_benchmark", ROOT / "benchmarks" / "presets.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = module_from_spec(spec)
    sys.modules[spec.name] = module  # its data classes look for it there
    spec.loader.exec_module(module)
    return str(module.table(module.complete(module.Options())))


def compared(records: list[Record], ours: str) -> str:
    """All policies at their budgets, and one minus every other, with Holm's correction."""
    rows = at_budgets(records)
    return "\n".join(
        [
            budget_tables(rows, "greedy"),
            budget_tables(rows, "greedy", MEASURED),
            paired_page(records, ours),
        ]
    )


def frontier() -> str:
    """Round three, and today's study when it is run.

    Today's has differences from every rival, with Holm's correction for all of them, as the study
    of limits has. Round three compares with the best rival, which was chosen by its result; Holm's
    correction there is for the lines of a column.
    """
    tables, file = [budget_page(read_records(THIRD))], RESULTS / "frontier" / "records.csv"
    if file.exists():
        tables += [compared(read_records(file), name) for name in ("dial by price", LIMITED)]
    return "\n".join(tables)


def control() -> str:
    file = RESULTS / "control" / "records.csv"
    return control_tables(CONTROL, read_records(file) if file.exists() else [])


def minatar() -> str:
    return minatar_page(RESULTS / "minatar").text


def paper() -> str:
    return paper_page(RESULTS / "paper").text


PAGES: dict[str, Callable[[], str]] = {
    "filters.md": filters,
    "limits.md": partial(limits, "limit"),
    "limits-lander.md": partial(limits, "limit-lander", "limit-lander-double"),
    "limits-two-way.md": two_way,
    "algorithms/baselines.md": presets,
    "frontier.md": frontier,
    "transfer.md": transfer,
    "control-study.md": control,
    "minatar.md": minatar,
    "paper.md": paper,
    "results.md": paper,
}

WITHOUT_RECORDS = {
    "algorithms/control.md": "two sizes of a minibatch on five development seeds; from it nothing "
    "is concluded but a default, and the script was not kept",
}
"""Pages with tables of development runs, and why they have no records."""
MARK = "**Development runs without records**"


def measured_rows(page: Path) -> list[str]:
    """The rows of a page's tables that have an interval."""
    return [x for x in page.read_text().splitlines() if x.startswith("|") and INTERVAL.search(x)]


def test_no_other_page_has_a_table_with_intervals() -> None:
    pages = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if measured_rows(p)}
    assert pages <= PAGES.keys() | WITHOUT_RECORDS.keys()


@pytest.mark.parametrize("page", WITHOUT_RECORDS)
def test_a_table_without_records_says_so(page: str) -> None:
    """A paragraph with the mark follows each such table."""
    paragraphs = (DOCS / page).read_text().split("\n\n")
    tables = [i for i, x in enumerate(paragraphs) if x.startswith("|") and INTERVAL.search(x)]
    assert tables
    assert all(paragraphs[i + 1].startswith(MARK) for i in tables)


def test_a_minus_of_either_kind_is_seen() -> None:
    rows = ("-135 [-136, -134]", "−135 [−1,136, −134]", "+1% [-2%, +4.5%]", "1.0 ± 2")
    assert all(INTERVAL.search(row) for row in rows)


@pytest.mark.parametrize("page", PAGES)
def test_every_row_with_an_interval_is_made_from_records(page: str) -> None:
    made_again = set(PAGES[page]().splitlines())
    assert [row for row in measured_rows(DOCS / page) if row not in made_again] == []


def test_both_kinds_of_actions_are_shown_where_they_were_measured() -> None:
    text = (DOCS / "frontier.md").read_text()
    assert all(f", {actions} actions" in text for actions in ACTIONS)
