from pathlib import Path

import pytest

import policy_inertia as pi
from policy_inertia.drawing.action_log_plot import draw_measurement


def test_picture_names_the_actions_the_ratio_and_the_time_of_a_step(tmp_path: Path) -> None:
    measured = pi.measure([["left", "right"] * 20, ["$left"]], step_time=0.05)
    draw_measurement(measured, "log[/b].csv", tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text()
    for part in ("left", "right", "$left", "log[/b].csv: oscillation ratio 0.4", "steps of 0.05 s"):
        assert f">{part}" in text or part in text
    draw_measurement(measured, "log[/b].csv", tmp_path / "again.svg")
    draw_measurement(measured, "log[/b].csv", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        draw_measurement(pi.measure([0, 1, 1]), "log", tmp_path / folder / "p.svg")
    assert (tmp_path / "a" / "p.svg").read_bytes() == (tmp_path / "b" / "p.svg").read_bytes()


def test_log_of_one_step_and_log_of_many_actions_are_drawn(tmp_path: Path) -> None:
    draw_measurement(pi.measure([0]), "one", tmp_path / "one.svg")
    draw_measurement(pi.measure(list(range(30)) * 10), "many", tmp_path / "many.svg")
    assert "12 most frequent actions" in (tmp_path / "many.svg").read_text()


def test_other_files_than_pictures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pi.InputError, match=r"drawn as \.png or \.svg or \.pdf"):
        draw_measurement(pi.measure([0]), "one", tmp_path / "one.txt")
