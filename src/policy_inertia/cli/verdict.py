"""policy-inertia verdict: the paper's claims, judged by the records of a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import default_is
from policy_inertia.cli.view import say
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Verdict(Command):
    """Judge the paper's claims by the records of a study.

    Prints a line for each claim: what was measured, whether it is reproduced, and why. Writes
    paper.md with all tables and the rule, its pictures in images/, and the first table into
    results.md where that file has a place for it. For minatar it writes minatar.md and its
    pictures. It trains nothing and works with however many records there are.
    """

    name: ClassVar[str] = "verdict"
    example: ClassVar[str] = "policy-inertia verdict"

    study: Positional[str] = "paper"
    """The study: paper or minatar."""
    records: Annotated[DisallowNone[Path | None], default_is("results/STUDY")] = None
    """Folder of the records that 'study STUDY --records' wrote."""
    out: Path = Path("docs")
    """Folder for the page and its pictures."""

    def run(self) -> None:
        from policy_inertia.study.declared.verdicts import find_verdict
        from policy_inertia.study.report.verdict_files import write_page

        make_page = find_verdict(self.study)
        folder = self.records or Path("results") / self.study
        place = folder if self.records else folder.parent  # results/STUDY comes with its first run
        if not place.is_dir():
            raise InputError(
                f"there is no folder {place}: give --records with the folder that "
                f"'policy-inertia study {self.study} --records FOLDER' wrote"
            )
        page = make_page(folder)
        write_page(page, self.out)
        say(page.table)
        say(f"Page: {self.out / page.file}, with {len(page.pictures)} pictures in images/")
