"""policy-inertia report: a study as one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command, command_line
from policy_inertia.cli.flags import Trust, default_is
from policy_inertia.cli.study_view import write_report


@dataclass(frozen=True)
class Report(Command):
    """Write a study's report as one HTML file.

    The page holds the verdict, learning curves, return against oscillation, statistics, recorded
    episodes to step through, and all settings. It needs no other file. summary.json, summary.csv
    and the figures as SVG and PNG are written beside it.
    """

    name: ClassVar[str] = "report"
    example: ClassVar[str] = "policy-inertia report runs/paper"

    folder: Positional[Path]
    """The folder of a study. The study need not be finished."""
    out: Annotated[DisallowNone[Path | None], default_is("report.html in the folder")] = None
    """The HTML file to write."""
    statistic: Literal["iqm", "paper"] = "iqm"
    """iqm: interquartile mean, bootstrap interval; paper: mean, half a standard deviation."""
    no_inspect: bool = False
    """Record no episodes: the page then has no inspector, and no environment is created."""
    trust: Trust = False

    def run(self) -> None:
        from policy_inertia.study.folder import collect

        path = self.out or self.folder / "report.html"
        results = collect(self.folder, self.trust)
        again = f"{command_line()} --trust"
        write_report(results, path, not self.no_inspect, self.statistic, again)
