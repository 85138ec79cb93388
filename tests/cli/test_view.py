"""What is printed is shown as it is, whatever its name looks like."""

import ast
import io
import os
import re
from pathlib import Path

import pytest
from rich.table import Table

import policy_inertia.cli
from policy_inertia.cli import view
from policy_inertia.cli.study_view import study_tables
from policy_inertia.study.analysis.summary import tabulate
from tests.support import synthetic_results

NAME = "x[/b] [lr=1] [bold]y :smile: \\[z]"
"""A name that is markup, an emoji code and an escaped bracket for rich."""


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal shows."""
    text = io.StringIO()
    for name in ("out", "err"):
        terminal = view.PlainConsole(file=text, force_terminal=True, width=200, color_system=None)
        monkeypatch.setattr(view, name, terminal)
    return text


def test_sentences_are_no_markup(screen: io.StringIO) -> None:
    view.say(NAME, "italic")
    view.complain(NAME)
    view.warn(NAME)
    assert screen.getvalue().count(NAME) == 3


def test_cells_titles_headers_and_captions_are_no_markup(screen: io.StringIO) -> None:
    table = Table(NAME, title=NAME, caption=NAME)
    table.add_row(NAME, style="italic")
    view.show_titled(NAME, table)
    assert screen.getvalue().count(NAME) == 5


def test_text_beside_a_spinner_is_no_markup(screen: io.StringIO) -> None:
    with view.working(NAME) as update:
        update(f"{NAME} again")
    assert f"{NAME} again" in screen.getvalue()


def test_control_characters_are_shown_as_codes(screen: io.StringIO) -> None:
    hidden = "a\x1b[2Jb\x07c\rd\x9be\u202ef" + os.fsdecode(b"\xff")
    shown = r"a\x1b[2Jb\x07c\rd\x9be\u202ef\udcff"
    view.say(hidden)
    table = Table("")
    table.add_row(hidden)
    view.out.print(table)
    view.complain(f"{hidden}\nnext")
    text = screen.getvalue()
    assert text.count(shown) == 3
    assert rf"{shown}\nnext" in text
    assert not re.search("[\x07\r\x9b\u202e]", text)


def test_only_two_files_of_the_command_line_know_how_to_print() -> None:
    """Everything else prints through them, so that no text is read as markup."""
    folder = Path(policy_inertia.cli.__file__).parent
    for file in folder.glob("*.py"):
        tree = ast.parse(file.read_text())
        imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        assert "rich.markup" not in imported
        assert not {"print", "out.status", "Text.from_markup"} & calls - {
            "out.status" if file.name == "view.py" else ""
        }, file
        if file.name not in ("view.py", "progress.py"):
            rich = {name for name in imported if name and name.startswith("rich")}
            assert rich <= {"rich.table", "rich.box"}, file


def test_titles_and_labels_of_a_study_are_no_markup(screen: io.StringIO) -> None:
    line = synthetic_results.line(NAME, task="[t]")
    experiment = synthetic_results.experiment(line)
    rows = tabulate(synthetic_results.results(experiments=[experiment]))
    for table in study_tables(experiment, rows["base"]):
        view.out.print(table)
    text = screen.getvalue()
    assert "Base: [t]" in text
    assert NAME in text
    assert re.search(r"0\.\d+ \[0\.\d+, 0\.\d+\]", text)
