from pathlib import Path

from policy_inertia.drawing.calibration_plot import draw_calibrations
from policy_inertia.metrics.calibration_table import Calibration
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
    assert {"return", "termination rate", "price, rate or threshold (log10)"} <= set(shown)
    assert shown.count("dial") == shown.count("filter") == 3


def test_dial_with_the_price_0_alone_has_no_logarithm(tmp_path: Path) -> None:
    table = Calibration("price", "Task", 20, 0, (row(0.0, 0.4),))
    draw_calibrations({"dial": table}, "one", tmp_path / "dial.svg")
    assert labels(tmp_path / "dial.svg").count("dial") == 2
