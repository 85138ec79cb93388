import pytest

from policy_inertia.drawing.palette import COLOURS, colour, text_colour


def contrast_with_white(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


@pytest.mark.parametrize("line", COLOURS)
def test_text_in_the_colour_of_a_line_is_readable_on_white(line: str) -> None:
    assert contrast_with_white(text_colour(line)) >= 4.5


def test_colours_begin_again_after_the_last() -> None:
    assert colour(len(COLOURS)) == colour(0)
