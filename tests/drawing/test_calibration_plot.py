from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from policy_inertia.drawing import plots
from policy_inertia.drawing.calibration_plot import draw_calibrations
from policy_inertia.drawing.plots import draw
from policy_inertia.metrics.calibration_table import Calibration, Row
from tests.support.calibrations import calibration, row


def labels(path: Path) -> list[str]:
    """The text of an SVG file."""
    return [
        part.partition("</text>")[0].rpartition(">")[2]
        for part in path.read_text().split("<text")[1:]
    ]


def test_every_headline_measure_is_drawn_against_the_oscillation_ratio(tmp_path: Path) -> None:
    tables = {"dial": calibration(0.4, 0.2, 0.1), "filter": calibration(0.5, 0.3)}
    draw_calibrations(tables, "both", tmp_path / "dial.svg")
    shown = labels(tmp_path / "dial.svg")
    assert shown.count("oscillation ratio") == 3
    assert {"return", "termination rate", "price (log10, above 0 only)"} <= set(shown)
    assert shown.count("dial") == shown.count("filter") == 1  # in the legend


def test_dial_with_the_price_0_alone_has_no_logarithm(tmp_path: Path) -> None:
    table = Calibration("price", "Task", 20, 0, (row(0.0, 0.4),))
    draw_calibrations({"dial": table}, "one", tmp_path / "dial.svg")
    assert labels(tmp_path / "dial.svg").count("price (log10, above 0 only)") == 1


def test_label_says_that_settings_without_a_logarithm_are_left_out(tmp_path: Path) -> None:
    table = Calibration("price", "Task", 20, 0, tuple(row(x, 0.4) for x in (-1.0, 0.0, 1.0)))
    draw_calibrations({"dial": table}, "one", tmp_path / "dial.svg")
    assert "price (log10, above 0 only)" in labels(tmp_path / "dial.svg")
    positive = Calibration("price", "Task", 20, 0, (row(0.5, 0.4), row(1.0, 0.2)))
    draw_calibrations({"dial": positive}, "one", tmp_path / "dial.svg")
    assert "price (log10)" in labels(tmp_path / "dial.svg")


# geometry -----------------------------------------------------------------------------------------


def frontier(n: int, top: float, bend: float) -> Calibration:
    """A table like those of real dials: the oscillation falls, the return bends down at the end."""
    ratios = np.linspace(0.5, 0.0, n)
    rows = [
        Row(
            1e-3 * 3.0**i,
            {
                **row(0.0, float(ratio)).figures,
                "return": top - bend * float(np.exp(-20 * ratio)),
                "crash_rate": float(np.exp(-8 * ratio)),
            },
        )
        for i, ratio in enumerate(ratios)
    ]
    return Calibration("price", "Task", 20, 0, tuple(rows))


LONG = (
    "hysteresis on dial-dqn (core) with settings that nobody can read any more, such as these ones"
)
PICTURES: dict[str, dict[str, Calibration]] = {
    "bent": {
        "dial-dqn": frontier(16, 200, 600),
        "hysteresis on dial-dqn (core)": frontier(9, 90, 1),
    },
    "flat": {"limit-sac": frontier(30, 1, 0), "hysteresis on limit-sac (core)": frontier(30, 1, 0)},
    "many": {f"{k}, {LONG}": frontier(12, k, 10 * k) for k in range(5)},
    "one": {"hysteresis on sac": frontier(1, 0, 0)},
    "steep": {"a": frontier(8, -1e6, 1e6), "b": frontier(2, 1e-6, 0)},
}


@pytest.mark.parametrize("name", PICTURES)
def test_no_label_lies_on_a_line_or_leaves_the_picture(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []

    def drawn(*args: Any) -> Figure:
        figures.append(draw(*args))
        return figures[-1]

    monkeypatch.setattr(plots, "draw", drawn)
    title = f"{name} on package.module:policy_inertia/ATaskWithALongName-v0" * 3
    draw_calibrations(PICTURES[name], title, tmp_path / "dial.png")
    (figure,) = figures
    drawn_area, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn_area.x0, drawn_area.y0) >= 0
    assert drawn_area.x1 <= width
    assert drawn_area.y1 <= height
    (legend,) = figure.legends
    assert len(legend.get_texts()) == len(PICTURES[name])
    texts: list[Text] = [*figure.texts, *legend.get_texts()]
    texts += [t for axis in figure.axes for t in (*axis.texts, axis.xaxis.label, axis.yaxis.label)]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) >= 3 + len(legend.get_texts())
    for axis in figure.axes:
        assert axis.lines
        for line in axis.lines:
            assert not any(line.get_window_extent().overlaps(box) for box in boxes)
