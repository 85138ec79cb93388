"""Draw a log of continuous actions: traces of the first episode, and the sizes of its moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from policy_inertia.drawing.palette import COLOURS
from policy_inertia.drawing.plots import encoded, house_style, picture_kind
from policy_inertia.errors import visible
from policy_inertia.files import write_file
from policy_inertia.metrics.action_log import Measurement
from policy_inertia.metrics.measures import FLUCTUATION

STEPS, NUMBERS, BARS = 200, 8, 30  # that are drawn


def draw_movement(measurement: Measurement, title: str, path: Path) -> None:
    """Draw a measurement of continuous actions.

    Args:
        measurement: What `measure` returned.
        title: Title of the picture.
        path: The file; its ending says which kind.
    """
    kind = picture_kind(path)
    ratio = FLUCTUATION.show(measurement.figures.get(FLUCTUATION.name))
    with house_style(path.stem):
        figure = Figure(figsize=(12, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        traces, moves = figure.subplots(1, 2, width_ratios=(2, 1))
        for i, trace in enumerate(measurement.log.episodes[0][:STEPS, :NUMBERS].T):
            traces.step(
                range(len(trace)), (trace + 1) / 2, where="post", color=COLOURS[i % len(COLOURS)]
            )
        traces.set(xlabel="step", ylabel="action, as a share of its range", ylim=(-0.02, 1.02))
        traces.set_title("first episode, one line for each number", fontsize=9)
        steps = [np.abs(np.diff(e, axis=0)).ravel() / 2 for e in measurement.log.episodes]
        moves.hist(np.concatenate(steps), BARS, color=COLOURS[0])
        moves.set(xlabel="|move| in a step, as a share of the range", ylabel="moves", yscale="log")
        for axis in (traces, moves):
            axis.spines[["top", "right"]].set_visible(False)
        figure.suptitle(
            f"{visible(title)}: {FLUCTUATION.label} {ratio}", fontsize=10, parse_math=False
        )
        data = encoded(figure, kind)
    write_file(path, data)
