"""policy-inertia at-budget: a study's methods at the same oscillation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import Trust, default_is
from policy_inertia.cli.view import say, working
from policy_inertia.files import write_file

if TYPE_CHECKING:
    from policy_inertia.study.analysis.at_budget import Record
    from policy_inertia.study.results import Results


@dataclass(frozen=True)
class AtBudget(Command):
    """Compare a study's methods at the same oscillation.

    Prints Markdown tables of what every method returns, and how often it crashes, within the same
    budgets, and of what it would return without a time limit. Cells are means and 95% t-intervals
    over seeds. The best constant action is a rival too. The last tables show each dial minus its
    best rival, and minus the filter on its own core, paired by seed. With --ours, the tables show
    one policy minus every other. What is bold stands after Holm's correction for all cells of its
    column, with --ours for all cells of its figure.

    For Box actions, methods are compared at the same movement, and random actions are the rival.
    """

    name: ClassVar[str] = "at-budget"
    example: ClassVar[str] = "policy-inertia at-budget runs/frontier"

    study: Positional[Path]
    """The folder of a study that has budgets, the folder of its records, such as results/limit, or
    a records.csv that this command wrote."""
    out: Annotated[DisallowNone[Path | None], default_is("records.csv in the study's folder")] = (
        None
    )
    """Where to store the records."""
    ours: Annotated[DisallowNone[str | None], default_is("all tables")] = None
    """Compare this policy, by its name in the tables, with every other one."""
    page: Annotated[DisallowNone[Path | None], default_is("print the tables")] = None
    """Write the tables of the study of control into this Markdown file, between its two marks."""
    picture: Annotated[DisallowNone[Path | None], default_is("none")] = None
    """Draw the return against the measured oscillation, with the planner's edge, to this file."""
    show: Annotated[tuple[str, ...], default_is("all but cores")] = ()
    """Names of the policies to draw."""
    trust: Trust = False

    def run(self) -> None:
        from policy_inertia.study.report.markdown import budget_page, paired_page

        if self.page is not None:
            self._write(self.page)
            return
        records = self._records()
        say(budget_page(records) if self.ours is None else paired_page(records, self.ours))
        if self.picture is not None:
            self._draw(records, self.picture)

    def _draw(self, records: list[Record], path: Path) -> None:
        from policy_inertia.drawing.plots import save
        from policy_inertia.study.analysis.at_budget import at_budgets
        from policy_inertia.study.declared import known_envs
        from policy_inertia.study.report.budget_pictures import TITLE, WIDTH, budget_panels

        panels = budget_panels(at_budgets(records), known_envs(), self.show)
        save(panels, TITLE, path, legend=True, width=WIDTH)
        say(f"Picture: {path}")

    def _write(self, page: Path) -> None:
        from policy_inertia.storage import read_page
        from policy_inertia.study.declared.control import STUDY
        from policy_inertia.study.report.control_page import control_tables, with_tables

        text = read_page(page)
        none = self.study.name == STUDY.name and not self.study.exists()
        tables = control_tables(STUDY, [] if none else self._records())
        write_file(page, with_tables(text, tables).encode())
        say(f"Tables written to {page}")

    def _records(self) -> list[Record]:
        """Read the records, or collect and store them if a folder is given."""
        from policy_inertia.study.analysis.at_budget import (
            budget_records,
            read_records,
            write_records,
        )
        from policy_inertia.study.analysis.constant_action import constant_action_records

        if not self.study.is_dir():
            return read_records(self.study)
        results = self._results()
        with working("constant actions") as update:
            records = budget_records(results) + constant_action_records(results, update)
        write_records(self.out or self.study / "records.csv", records)
        return records

    def _results(self) -> Results:
        """Read a study's folder, or the folder of a declared study's records, by its name."""
        from policy_inertia.study.declared import studies
        from policy_inertia.study.folder import collect
        from policy_inertia.study.plan import Study
        from policy_inertia.study.run_records import Records, recorded_results

        plan = studies().get(self.study.name)
        if (self.study / "study.json").exists() or not isinstance(plan, Study):
            return collect(self.study, self.trust)
        shared = tuple(self.study.parent / name for name in plan.shared)
        return recorded_results(plan, Records(self.study, further=shared))
