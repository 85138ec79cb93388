"""policy-inertia verdict: the paper's claims, judged by the records of its study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from policy_inertia.cli.command import Command
from policy_inertia.cli.view import say
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Verdict(Command):
    """Judge the paper's claims by the records of its study.

    Prints a line for each claim: what was measured, whether it is reproduced, and why. Writes
    paper.md with all tables and the rule, its pictures in images/, and the first table into
    results.md where that file has a place for it. It trains nothing and works with however many
    records there are.
    """

    name: ClassVar[str] = "verdict"
    example: ClassVar[str] = "policy-inertia verdict"

    records: Path = Path("results/paper")
    """Folder of the records that 'study paper --records' wrote."""
    out: Path = Path("docs")
    """Folder for the page and its pictures."""

    def run(self) -> None:
        from policy_inertia.study.declared.paper_claims import paper_page
        from policy_inertia.study.report.verdict_files import write_page

        if not self.records.is_dir():
            raise InputError(
                f"there is no folder {self.records}: give --records with the folder that "
                "'policy-inertia study paper --records FOLDER' wrote"
            )
        page = paper_page(self.records)
        write_page(page, self.out)
        say(page.table)
        say(f"Page: {self.out / 'paper.md'}, with {len(page.pictures)} pictures in images/")
