import re

import pytest

from policy_inertia.drawing.plots import COLOURS, Line, Panel, Point, render, text_colour

LINE = Line("a $b$", COLOURS[0], [0, 1, 2], [1, 2, 3], [0, 1, 2], [2, 3, 4])
POINTS = [Point("here", COLOURS[1], "o", 1, 2, (0, 2)), Point("", COLOURS[2], "s", 3, 4)]
PANELS = [Panel("steps", "return", [LINE]), Panel("x", "y", [], POINTS)]


def contrast_with_white(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def test_same_picture_same_bytes_and_no_date():
    once, again = (render(PANELS, "title", ("svg", "png"), "salt") for _ in range(2))
    assert once == again
    assert once[1].startswith(b"\x89PNG")
    assert not re.search(rb"\d{4}-\d\d-\d\dT", once[0])
    other = render(PANELS, "title", ("svg",), "other")[0]
    names = [set(re.findall(rb'<clipPath id="(\w+)"', svg)) for svg in (once[0], other)]
    assert names[0]
    assert not names[0] & names[1]  # two of them can stand in one page


def test_words_stay_words():
    text = render(PANELS, "no $math$ here")[0].decode()
    for words in ("a $b$", "here", "return", "no $math$ here"):
        assert f">{words}</text>" in text


@pytest.mark.parametrize("colour", COLOURS)
def test_labels_can_be_read(colour):
    assert contrast_with_white(text_colour(colour)) >= 4.5
