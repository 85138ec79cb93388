"""policy-inertia measure: how much the actions in a log oscillate."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import default_is
from policy_inertia.cli.view import say, show_titled
from policy_inertia.errors import InputError

if TYPE_CHECKING:
    from policy_inertia.metrics.action_log import Measurement

MOST_COLUMNS = 12  # of the table of switches


@dataclass(frozen=True)
class Measure(Command):
    """Measure how much the actions in a log oscillate.

    Needs no policy and no environment: a file with the actions is enough. Actions are whole numbers
    or names, or continuous: numbers that are not all whole. The command prints how it has read the
    file.

    Continuous actions: a .npy file holds steps x numbers, or episodes x steps x numbers. A .csv
    file has one row for each step and one column for each number, with or without names (action_0,
    action_1, ..., and episode). A line of a .jsonl file is [[0.1, 0.2], ...] or
    {"episode": 3, "action": [0.1, 0.2]}.

    Discrete actions: a .csv file has one row for each step, if it has a column named action (and
    one named episode, if there are several); else one column for each episode. A .npy file has one
    row for each episode, or is one episode. A line of a .jsonl file is one episode, [0, 1, 1] or
    {"actions": [0, 1, 1]}, or one step, {"episode": 3, "action": 1}. Where episodes differ
    in length, the cells after the end of an episode are empty or NaN.
    """

    name: ClassVar[str] = "measure"
    example: ClassVar[str] = "policy-inertia measure actions.csv --step-time 0.05"

    log: Positional[Path]
    """The log of actions: a .csv, .tsv, .jsonl or .npy file."""
    step_time: Annotated[DisallowNone[float | None], default_is("unknown")] = None
    """Seconds of a step. With it, the figures are also given in seconds."""
    layout: Annotated[
        DisallowNone[Literal["steps", "columns", "rows"] | None], default_is("detected")
    ] = None
    """How a .csv or .npy file is laid out: one row a step, one column an episode, or one row an
    episode."""
    low: Annotated[DisallowNone[float | None], default_is("the smallest number of the log")] = None
    """Lower bound of continuous actions; give --high too."""
    high: Annotated[DisallowNone[float | None], default_is("the largest number of the log")] = None
    """Upper bound of continuous actions."""
    out: Annotated[DisallowNone[Path | None], default_is("LOG-oscillation.png beside the log")] = (
        None
    )
    """The picture to draw."""
    json: bool = False
    """Print JSON instead of tables, and draw nothing unless --out is given."""

    def run(self) -> None:
        from policy_inertia.drawing.action_log_plot import draw_measurement
        from policy_inertia.drawing.movement_plot import draw_movement
        from policy_inertia.interop.measure import measure

        if (self.low is None) != (self.high is None):
            raise InputError("give --low and --high together: the range of the actions")
        bounds = None if self.low is None else (self.low, self.high)
        measurement = measure(self.log, self.step_time, self.layout, bounds)
        if self.json:
            sys.stdout.write(json.dumps(measurement.summary(), indent=1) + "\n")
        else:
            _show(self.log, measurement)
        if self.json and self.out is None:
            return
        picture = self.out or self.log.with_name(f"{self.log.stem}-oscillation.png")
        draw = draw_measurement if measurement.log.space.finite else draw_movement
        draw(measurement, self.log.name, picture)
        if not self.json:
            say(f"Picture: {picture}")


def _show(log: Path, measurement: Measurement) -> None:
    table = Table("", "mean", "lowest", "highest", "unit", box=SIMPLE_HEAD, pad_edge=False)
    for measure in measurement.measures:
        values = measure.values(measurement.evaluation)
        spread = ("", "") if values is None else map(measure.show, (values.min(), values.max()))
        mean = measure.show(measurement.figures[measure.name])
        table.add_row(measure.label, mean, *spread, measure.unit)
    say(f"{log}: {measurement.log}")
    show_titled("Over the episodes", table)
    if not measurement.log.space.finite:
        _show_dimensions(measurement)
        return
    names = measurement.log.names
    if len(names) > MOST_COLUMNS:
        say(f"--json prints the table of switches between the {len(names)} actions.")
        return
    switches = Table("", *names, box=SIMPLE_HEAD, pad_edge=False)
    for name, row in zip(names, measurement.switch_matrix, strict=True):
        switches.add_row(name, *map(str, row))
    show_titled("Steps from an action (row) to the next one (column)", switches)


def _show_dimensions(measurement: Measurement) -> None:
    table = Table("number", "fluctuation", box=SIMPLE_HEAD, pad_edge=False)
    for i, figure in enumerate(measurement.fluctuation_per_dimension.tolist()):
        table.add_row(str(i), f"{figure:.4f}")
    show_titled("Action fluctuation of each number", table)
