"""Draw lines and points in panels, side by side; the same input gives the same bytes."""

from __future__ import annotations

import contextlib
import io
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from policy_inertia.drawing.palette import INK, text_colour
from policy_inertia.errors import InputError, visible
from policy_inertia.files import make_folder, write_file

WIDTH = 5.0  # inches of a panel
KINDS = ("png", "svg", "pdf")
LONGEST = 24  # letters of a label
LONGEST_IN_LEGEND = 80
TITLE = 12  # letters of a title for each inch
SPOTS = (
    (8, 6), (8, -6), (-8, 6), (-8, -6), (0, 14), (0, -14), (8, 20), (8, -20), (-8, 20), (14, 0),
)  # fmt: skip
"""Where a point's name may stand, in typographic points from the point; the first is preferred."""


@dataclass(frozen=True)
class Line:
    """A curve, shaded between `low` and `high` if they are given, or with `bars` between them."""

    label: str
    colour: str
    x: Any
    y: Any
    low: Any = None
    high: Any = None
    dashed: bool = False
    dots: bool = False
    bars: bool = False


@dataclass(frozen=True)
class Point:
    """A marker with intervals in both directions, each as (low, high).

    Without a marker only the label is drawn.
    """

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
    """One pair of axes. The name of a line stands at its end, the name of a point beside it.

    Over `time`, x counts steps, which are shown in thousands. `y_limits` are the ends of the axis.
    """

    x_label: str
    y_label: str
    lines: Sequence[Line] = ()
    points: Sequence[Point] = field(default=())
    label_ends: bool = True
    time: bool = False
    y_limits: tuple[float, float] | None = None


def save(
    panels: Sequence[Panel], title: str, *paths: Path, legend: bool = False, width: float = WIDTH
) -> None:
    """Draw panels side by side into one file per path; the ending says which kind."""
    kinds = [picture_kind(path) for path in paths]
    pictures = render(panels, title, kinds, paths[0].stem, legend, width)
    for path, data in zip(paths, pictures, strict=True):
        make_folder(path.parent)
        write_file(path, data)


def picture_kind(path: Path) -> str:
    """The kind of picture that a path asks for by its ending.

    Raises:
        InputError: Pictures are not drawn as such files, or a folder has this name.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a picture in it, such as {path / 'dial.png'}")
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path}: a picture is drawn as .{' or .'.join(KINDS)}")
    return kind


def render(
    panels: Sequence[Panel],
    title: str = "",
    kinds: Sequence[str] = ("svg",),
    salt: str = "",
    legend: bool = False,
    width: float = WIDTH,
) -> list[bytes]:
    """Draw panels side by side, and return the picture in each kind of file.

    Args:
        panels: The panels, from left to right.
        title: Text above the panels.
        kinds: Endings of files, such as "svg" and "png".
        salt: Keeps the ids inside the SVGs of one page apart.
        legend: Write the names of the lines once, below all panels.
        width: Width of a panel, in inches. Text has 10 points, so in a narrow picture it is large.
    """
    with house_style(salt):
        figure = draw(panels, title, legend, width)
        return [encoded(figure, kind) for kind in kinds]


def draw(
    panels: Sequence[Panel], title: str = "", legend: bool = False, width: float = WIDTH
) -> Figure:
    """Draw panels side by side; see `render`."""
    figure = Figure(figsize=(width * len(panels), 0.76 * width), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, panel)
    if title:
        text = _wrapped(title, int(TITLE * width * len(panels)))
        figure.suptitle(text, fontsize=10, parse_math=False)
    if legend:
        _draw_legend(figure, panels)
    layout: Any = figure.get_layout_engine()
    layout.execute(figure)
    figure.set_layout_engine("none")  # once is enough; it is the slowest part
    for axis, panel in zip(axes, panels, strict=True):
        _label_points(axis, panel)  # after everything else has its place
    return figure


def _wrapped(title: str, letters: int) -> str:
    """A title whose lines have so many letters; what takes more than three of them is cut."""
    lines = visible(title).split("\n")
    wrapped = (textwrap.wrap(line, letters, max_lines=3, placeholder="…") for line in lines[:3])
    return "\n".join(part for line in wrapped for part in line)


def _draw_legend(figure: Figure, panels: Sequence[Panel]) -> None:
    """Write the names of all lines below the panels, in as few rows as fit the picture."""
    lines = {line.label: line for panel in panels for line in panel.lines}
    samples = [
        Line2D([], [], color=line.colour, lw=2, ls=_dashes(line), marker=_dot(line), ms=3.5)
        for line in lines.values()
    ]
    names = [short(name, LONGEST_IN_LEGEND) for name in lines]
    for columns in range(len(names), 0, -1):
        legend = figure.legend(
            samples, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        if columns == 1 or legend.get_window_extent().width < figure.bbox.width:
            break
        legend.remove()


@contextlib.contextmanager
def house_style(salt: str = "") -> Iterator[None]:
    """Draw with the fonts and colours of all our pictures; see `render` for `salt`."""
    style: dict[Any, Any] = {
        "svg.hashsalt": salt or "policy-inertia",
        "svg.fonttype": "none",  # text stays text
        "font.family": "DejaVu Sans",
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
        **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    }
    with mpl.rc_context(style), warnings.catch_warnings():
        # a name in a script that the font lacks: an SVG's reader may have it
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def encoded(figure: Figure, kind: str) -> bytes:
    """The bytes of a figure as a file of this kind; the same figure gives the same bytes."""
    figure.patch.set_alpha(0 if kind == "svg" else 1)
    data, metadata = io.BytesIO(), {"Date": None} if kind == "svg" else None
    figure.savefig(data, format=kind, dpi=130, metadata=metadata)
    return data.getvalue()


def _draw(axis: Any, panel: Panel) -> None:
    axis.patch.set_alpha(0)
    axis.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y" if panel.time else "both", alpha=0.25)
    if panel.time:
        axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x else "0")
    ends = []
    for line in panel.lines:
        style, marker = _dashes(line), _dot(line)
        axis.plot(line.x, line.y, color=line.colour, lw=2, ls=style, marker=marker, ms=3.5)
        if line.low is not None and line.bars:
            middle = np.asarray(line.y, float)
            reach = [middle - line.low, line.high - middle]
            axis.errorbar(line.x, middle, reach, color=line.colour, alpha=0.5, lw=1.2, ls="none")
        elif line.low is not None:
            axis.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.15, lw=0)
        heights = np.asarray(line.y, float)
        heights = heights[np.isfinite(heights)]
        if len(heights):
            ends.append((float(heights[-1]), line.label, line.colour))
    for point in panel.points:
        if point.marker:
            _draw_point(axis, point)
    if panel.y_limits is not None:
        axis.set_ylim(panel.y_limits)
    if panel.label_ends:
        _label_ends(axis, ends)


def _dashes(line: Line) -> str:
    return "--" if line.dashed else "-"


def _dot(line: Line) -> str:
    return "o" if line.dots else ""


def _draw_point(axis: Any, p: Point) -> None:
    x_error, y_error = (
        None if interval is None else [[value - interval[0]], [interval[1] - value]]
        for value, interval in ((p.x, p.x_interval), (p.y, p.y_interval))
    )
    axis.errorbar(p.x, p.y, y_error, x_error, color=p.colour, alpha=0.5, lw=1.2)
    face = "none" if p.hollow else p.colour
    axis.plot(p.x, p.y, p.marker, ms=7, mec=p.colour, mfc=face, mew=1.6, ls="none")


def short(name: str, longest: int = LONGEST) -> str:
    """Cut a name, so that it leaves room for the picture."""
    name = visible(name)
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _label_ends(axis: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write each line's name at its end, moved apart where two would overlap."""
    low, high = axis.get_ylim()
    gap = (high - low) * 0.06
    ends = sorted(ends)
    heights = [value for value, _, _ in ends]
    for i in range(1, len(heights)):  # up from the lowest name
        heights[i] = max(heights[i], heights[i - 1] + gap)
    for i in reversed(range(len(heights))):  # and down again from the top of the picture
        heights[i] = min(heights[i], high - gap * (len(heights) - 1 - i))
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        axis.annotate(
            short(name),
            (1.01, height),
            xycoords=("axes fraction", "data"),
            color=text_colour(colour),
            va="center",
            annotation_clip=False,
            parse_math=False,
        )


def _label_points(axis: Any, panel: Panel) -> None:
    """Write each point's name at the spot beside it that covers the least."""
    obstacles = _obstacles(axis, panel)
    renderer = axis.figure.canvas.get_renderer()
    frame, names = axis.get_window_extent(renderer), list[Any]()
    for point in panel.points:
        if not point.label:
            continue
        candidates: list[tuple[int, int, Any, Any]] = []
        for dx, dy in SPOTS:
            side = "left" if dx > 0 else "right" if dx < 0 else "center"
            text = axis.annotate(
                short(point.label),
                (point.x, point.y),
                (dx, dy),
                textcoords="offset points",
                fontsize=9,
                color=text_colour(point.colour),
                ha=side,
                va="center",
                parse_math=False,
            )
            box = text.get_window_extent(renderer)
            cost = sum(box.contains(*place) for place in obstacles)
            cost += 50 * sum(map(box.overlaps, names))
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 + 2
            cost += 0 if inside and frame.y0 <= box.y0 and box.y1 <= frame.y1 else 50
            candidates.append((cost, len(candidates), text, box))
        best = min(candidates, key=lambda candidate: candidate[:2])
        names.append(best[3])
        for candidate in candidates:
            if candidate is not best:
                candidate[2].remove()


def _obstacles(axis: Any, panel: Panel) -> Any:
    """Places in pixels that a name should not cover: markers, and 20 places per dot of a line."""
    places = [(p.x, p.y) for p in panel.points if p.marker]
    for line in panel.lines:
        n = len(line.x)
        along = np.linspace(0, n - 1, 20 * n)
        coordinates = [np.interp(along, range(n), values) for values in (line.x, line.y)]
        places += list(zip(*coordinates, strict=True))
    return axis.transData.transform(places) if places else []
