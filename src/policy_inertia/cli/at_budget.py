"""policy-inertia at-budget: a study's methods at the same oscillation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import default_is
from policy_inertia.cli.view import out


@dataclass(frozen=True)
class AtBudget(Command):
    """Compare a study's methods at the same oscillation.

    Prints Markdown tables of what every method returns, and how often it crashes, within the same
    budgets of oscillation, and of what it would return without a time limit. Cells are means and
    95% t-intervals over seeds. The best constant action is a rival too. The last tables show each
    dial minus its best rival, and minus hysteresis on its own core, paired by seed.
    """

    name: ClassVar[str] = "at-budget"
    example: ClassVar[str] = "policy-inertia at-budget runs/frontier"

    study: Positional[Path]
    """The folder of a study that has budgets, or a records.csv that this command wrote."""
    out: Annotated[DisallowNone[Path | None], default_is("records.csv in the study's folder")] = (
        None
    )
    """Where to store the records."""

    def run(self) -> None:
        from policy_inertia.study.analysis import at_budget
        from policy_inertia.study.analysis.constant_action import constant_action_records
        from policy_inertia.study.folder import collect
        from policy_inertia.study.report import markdown

        if self.study.is_dir():
            results = collect(self.study)
            records = at_budget.budget_records(results)
            with out.status("one action") as status:
                records += constant_action_records(results, status.update)
            at_budget.write_records(self.out or self.study / "records.csv", records)
        else:
            records = at_budget.read_records(self.study)
        rows = at_budget.at_budgets(records)
        for actions in at_budget.ACTIONS:
            print(markdown.budget_tables(rows, actions))
            print(markdown.budget_tables(rows, actions, markdown.DISCOUNTED))
            print(markdown.rival_table(at_budget.rival_comparisons(rows, actions)) + "\n")
            print(markdown.core_table(at_budget.core_comparisons(rows, actions)) + "\n")
