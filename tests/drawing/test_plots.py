import re

from policy_inertia.drawing.palette import COLOURS
from policy_inertia.drawing.plots import Line, Panel, Point, render

LINE = Line("a $b$", COLOURS[0], [0, 1, 2], [1, 2, 3], [0, 1, 2], [2, 3, 4])
POINTS = [Point("here", COLOURS[1], "o", 1, 2, (0, 2)), Point("", COLOURS[2], "s", 3, 4)]
PANELS = [Panel("steps", "return", [LINE]), Panel("x", "y", [], POINTS)]


def test_same_picture_has_the_same_bytes_and_no_date() -> None:
    one, other = (render(PANELS, "title", ("svg", "png"), "salt") for _ in range(2))
    assert one == other
    assert one[1].startswith(b"\x89PNG")
    assert not re.search(rb"\d{4}-\d\d-\d\dT", one[0])


def test_two_pictures_with_their_own_salt_share_no_ids() -> None:
    pictures = [render(PANELS, "title", ("svg",), salt)[0] for salt in ("one", "other")]
    ids = [set(re.findall(rb'<clipPath id="(\w+)"', picture)) for picture in pictures]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_text_stays_text() -> None:
    picture = render(PANELS, "no $math$ here")[0].decode()
    for text in ("a $b$", "here", "return", "no $math$ here"):
        assert f">{text}</text>" in picture


def test_long_name_is_cut() -> None:
    name = "a very long name of a method with settings"
    line = Line(name, COLOURS[0], [0, 1], [0, 1])
    picture = render([Panel("x", "y", [line])])[0].decode()
    assert f">{name[:23]}…</text>" in picture
