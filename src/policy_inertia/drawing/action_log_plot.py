"""Draw a log of actions: the first episodes, the switches, and for how long actions are held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from policy_inertia.drawing.palette import COLOURS, INK, text_colour
from policy_inertia.drawing.plots import encoded, house_style, picture_kind, short
from policy_inertia.errors import visible
from policy_inertia.files import write_file
from policy_inertia.metrics.action_log import Measurement
from policy_inertia.metrics.measures import OSCILLATION

STRIPS, LENGTH = 20, 200  # episodes and steps that are drawn
MOST_NAMED = 12  # actions of the matrix, the most frequent ones
LONGEST_HOLD = 20  # longer holds are drawn in the last bar
EMPTY = "#ffffff"
SHADES = "Blues"


def draw_measurement(measurement: Measurement, title: str, path: Path) -> None:
    """Draw a measurement.

    Args:
        measurement: What `measure` returned.
        title: Title of the picture.
        path: The file; its ending says which kind.
    """
    kind = picture_kind(path)
    ratio = OSCILLATION.show(measurement.figures[OSCILLATION.name])
    with house_style(path.stem):
        figure = Figure(figsize=(15, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        strips, matrix, holds = figure.subplots(1, 3, width_ratios=(1.4, 1, 1))
        _draw_strips(strips, measurement)
        _draw_matrix(matrix, measurement)
        _draw_holds(holds, measurement)
        figure.suptitle(
            f"{visible(title)}: {OSCILLATION.label} {ratio}", fontsize=10, parse_math=False
        )
        data = encoded(figure, kind)
    write_file(path, data)


def _draw_strips(axis: Any, measurement: Measurement) -> None:
    """One strip for each of the first episodes, with a colour for each action."""
    episodes = [e[:LENGTH] for e in measurement.log.episodes[:STRIPS]]
    picture = np.full((len(episodes), max(map(len, episodes))), np.nan)
    for strip, episode in zip(picture, episodes, strict=True):
        strip[: len(episode)] = episode % len(COLOURS)
    axis.imshow(
        picture,
        cmap=ListedColormap(COLOURS).with_extremes(bad=EMPTY),
        vmin=-0.5,
        vmax=len(COLOURS) - 0.5,
        aspect="auto",
        interpolation="nearest",
    )
    axis.set(xlabel="step", ylabel="episode")
    axis.yaxis.get_major_locator().set_params(integer=True)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_title("actions, by colour", fontsize=9)


def _draw_matrix(axis: Any, measurement: Measurement) -> None:
    """The share of the steps after each action in which the next one follows."""
    counts = measurement.switch_matrix
    used = counts.sum(0) + counts.sum(1)
    shown = np.sort(np.argsort(-used, kind="stable")[:MOST_NAMED])
    counts = counts[np.ix_(shown, shown)]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    axis.imshow(shares, cmap=SHADES, vmin=0, vmax=1)
    for (i, j), count in np.ndenumerate(counts):
        colour = "white" if shares[i, j] > 0.6 else INK
        axis.text(j, i, f"{count:,}", ha="center", va="center", color=colour, fontsize=8)
    names = [short(measurement.log.names[i]) for i in shown]
    axis.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names)) > 4 else 0)
    axis.set_yticks(range(len(names)), names)
    for labels in (axis.get_xticklabels(), axis.get_yticklabels()):
        for label, action in zip(labels, shown, strict=True):
            label.set_parse_math(False)
            label.set_color(text_colour(COLOURS[action % len(COLOURS)]))
    axis.set(xlabel="next action", ylabel="action")
    left_out = "" if len(shown) == len(used) else f" ({len(shown)} most frequent actions)"
    axis.set_title(f"steps from action to action{left_out}", fontsize=9)


def _draw_holds(axis: Any, measurement: Measurement) -> None:
    """How often an action is held for 1, 2, 3, ... steps."""
    lengths = np.minimum(measurement.holds, LONGEST_HOLD)
    longest = int(lengths.max())
    share = np.bincount(lengths, minlength=longest + 1)[1:] / len(lengths)
    axis.bar(range(1, longest + 1), share, color=COLOURS[0])
    unit = "steps"
    if measurement.step_time is not None:
        unit += f" of {measurement.step_time:g} s"
    axis.set(xlabel=f"held for so many {unit}", ylabel="share of holds", xlim=(0.4, longest + 0.6))
    axis.xaxis.get_major_locator().set_params(integer=True)
    if longest == LONGEST_HOLD:
        axis.set_title(f"holds; the last bar is {LONGEST_HOLD} steps and more", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
