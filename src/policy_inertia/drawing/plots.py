"""Pictures: lines and points in panels, for any colour vision, the same bytes each time."""

from __future__ import annotations

import colorsys
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import OSCILLATION, select_measures

# Okabe and Ito's palette: distinct for colour-blind readers too; yellow and black come last
COLOURS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vPX*"
INK = "#1B1F24"  # axes and words
LONGEST = 24  # letters of a label


@dataclass(frozen=True)
class Line:
    """A curve with its shaded interval, where it has one."""

    label: str
    colour: str
    x: Any
    y: Any
    low: Any = None
    high: Any = None
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True)
class Point:
    """A marked place with an interval in both directions, each a (low, high)."""

    label: str
    colour: str
    marker: str
    x: float
    y: float
    x_interval: tuple[float, float] | None = None
    y_interval: tuple[float, float] | None = None
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes. A line is named at its end, a point beside it."""

    x_label: str
    y_label: str
    lines: Sequence[Line] = ()
    points: Sequence[Point] = field(default=())
    label_ends: bool = True


def colour(i: int) -> str:
    """The i-th series' colour."""
    return COLOURS[i % len(COLOURS)]


def text_colour(line: str) -> str:
    """The same hue, dark enough to be read as words on white (a contrast of 4.5)."""
    r, g, b = (int(line[i : i + 2], 16) / 255 for i in (1, 3, 5))
    h, light, s = colorsys.rgb_to_hls(r, g, b)
    while 1.05 / (_luminance(r, g, b) + 0.05) < 4.5:
        light *= 0.96
        r, g, b = colorsys.hls_to_rgb(h, light, s)
    return "#" + "".join(f"{round(255 * c):02x}" for c in (r, g, b))


def _luminance(*rgb: float) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def draw_dial(tables: dict[str, Calibration], title: str, path: Path) -> None:
    """Return, failures and the setting itself against the oscillation ratio, for each dial."""
    shown = select_measures([row.figures for t in tables.values() for row in t.rows], "headline")
    drawn: list[tuple[str, Callable[[Row], float]]] = [
        (m.label, lambda row, name=m.name: row.figures[name] or 0.0)  # type: ignore[misc]
        for m in shown
        if m is not OSCILLATION
    ]
    drawn.append(("price of a switch, or threshold (log10)", lambda row: math.log10(row.setting)))
    panels = []
    for label, figure in drawn:
        lines, names = [], []
        for i, (name, table) in enumerate(tables.items()):
            rows = [row for row in table.rows if row.setting > 0 or "log10" not in label]
            x, y = [row.oscillation_ratio for row in rows], [figure(row) for row in rows]
            if rows:  # a dial that never saw a reward knows the price 0 alone
                lines.append(Line(name, colour(i), x, y, dots=True))
                middle = len(rows) // 2
                names.append(Point(name, colour(i), "", x[middle], y[middle]))
        panels.append(Panel("oscillation ratio", label, lines, names, label_ends=False))
    save(panels, f"{title}: each dot is one setting, greedy actions", path)


def save(panels: Sequence[Panel], title: str, *paths: Path) -> None:
    """Draw panels side by side into one file for each path; the ending says which kind."""
    kinds = [path.suffix.removeprefix(".") for path in paths]
    for path, data in zip(paths, render(panels, title, kinds, paths[0].stem), strict=True):
        path.write_bytes(data)


def render(
    panels: Sequence[Panel], title: str = "", kinds: Sequence[str] = ("svg",), salt: str = ""
) -> list[bytes]:
    """The picture of panels side by side, in each kind of file.

    `salt` keeps the names inside the SVGs of one page apart.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    style: dict[Any, Any] = {
        "svg.hashsalt": salt or "policy-inertia",
        "svg.fonttype": "none",  # words stay words
        "font.family": "DejaVu Sans",
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
        **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    }
    found = []
    with plt.rc_context(style):
        fig, axes = plt.subplots(
            1, len(panels), figsize=(5 * len(panels), 3.8), constrained_layout=True, squeeze=False
        )
        for axis, panel in zip(axes[0], panels, strict=True):
            _draw(axis, panel)
        if title:
            fig.suptitle(title, fontsize=10, parse_math=False)
        layout: Any = fig.get_layout_engine()
        layout.execute(fig)
        fig.set_layout_engine("none")  # once is enough; it is the slowest part
        for axis, panel in zip(axes[0], panels, strict=True):
            _label_points(axis, panel)  # where everything else has come to stand
        for kind in kinds:
            fig.patch.set_alpha(0 if kind == "svg" else 1)
            data, about = io.BytesIO(), {"Date": None} if kind == "svg" else None
            fig.savefig(data, format=kind, dpi=130, metadata=about)
            found.append(data.getvalue())
        plt.close(fig)
    return found


def _draw(axis: Any, panel: Panel) -> None:
    axis.patch.set_alpha(0)
    axis.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="both" if panel.points else "y", alpha=0.25)
    if not panel.points:
        axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x else "0")
    ends = []
    for line in panel.lines:
        stroke = "--" if line.dashed else "-"
        dot = "o" if line.dots else ""
        axis.plot(line.x, line.y, color=line.colour, lw=2, ls=stroke, marker=dot, ms=3.5)
        if line.low is not None:
            axis.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.15, lw=0)
        told = np.asarray(line.y, float)
        told = told[np.isfinite(told)]
        if len(told):
            ends.append((float(told[-1]), line.label, line.colour))
    for p in panel.points:
        if not p.marker:
            continue  # a name alone
        ends_of = ((p.x, p.x_interval), (p.y, p.y_interval))
        wide, tall = (None if i is None else [[v - i[0]], [i[1] - v]] for v, i in ends_of)
        axis.errorbar(p.x, p.y, tall, wide, color=p.colour, alpha=0.5, lw=1.2)
        face = "none" if p.hollow else p.colour
        axis.plot(p.x, p.y, p.marker, ms=7, mec=p.colour, mfc=face, mew=1.6, ls="none")
    if panel.label_ends:
        _label_ends(axis, ends)


def _short(name: str) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _label_ends(axis: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write each curve's name at its end, moved apart where two would overlap."""
    low, high = axis.get_ylim()
    gap = (high - low) * 0.06
    ends = sorted(ends)
    heights = [value for value, _, _ in ends]
    for i in range(1, len(heights)):  # up from below ...
        heights[i] = max(heights[i], heights[i - 1] + gap)
    for i in reversed(range(len(heights))):  # ... and down again from the top of the picture
        heights[i] = min(heights[i], high - gap * (len(heights) - 1 - i))
    for height, (_, name, line) in zip(heights, ends, strict=True):
        axis.annotate(
            _short(name),
            (1.01, height),
            xycoords=("axes fraction", "data"),
            color=text_colour(line),
            va="center",
            annotation_clip=False,
            parse_math=False,
        )


def _label_points(axis: Any, panel: Panel) -> None:
    """Write each point's name beside it, where the least lies under it."""
    renderer = axis.figure.canvas.get_renderer()
    points = panel.points
    drawn = [(p.x, p.y) for p in points if p.marker]
    for line in panel.lines:  # the label keeps clear of lines, too
        along = np.linspace(0, len(line.x) - 1, 20 * len(line.x))
        places = [np.interp(along, range(len(line.x)), values) for values in (line.x, line.y)]
        drawn += list(zip(*places, strict=True))
    centres = axis.transData.transform(drawn) if drawn else []
    whole, taken = axis.get_window_extent(renderer), list[Any]()
    spots = [
        (8, 6),
        (8, -6),
        (-8, 6),
        (-8, -6),
        (0, 14),
        (0, -14),
        (8, 20),
        (8, -20),
        (-8, 20),
        (14, 0),
    ]
    for p in points:
        if not p.label:
            continue
        costs: list[tuple[int, int, Any, Any]] = []
        for dx, dy in spots:
            side = "left" if dx > 0 else "right" if dx < 0 else "center"
            text = axis.annotate(
                _short(p.label), (p.x, p.y), (dx, dy), textcoords="offset points", fontsize=9,
                color=text_colour(p.colour), ha=side, va="center", parse_math=False,
            )  # fmt: skip
            box = text.get_window_extent(renderer)
            over = sum(box.contains(*c) for c in centres) + 50 * sum(map(box.overlaps, taken))
            inside = whole.x0 <= box.x0 and box.x1 <= whole.x1 + 2
            over += 0 if inside and whole.y0 <= box.y0 and box.y1 <= whole.y1 else 50
            costs.append((over, len(costs), text, box))
        best = min(costs, key=lambda c: c[:2])
        taken.append(best[3])
        for cost in costs:
            if cost is not best:
                cost[2].remove()
