"""Names that look like markup, in every command that prints one."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import SHORT_FLAGS, Run
from tests.support.policies import fresh

NAME = "x[/b] [lr=1] [bold]y :smile: \\[z]"
"""A name that is markup, an emoji code and an escaped bracket for rich."""


@pytest.mark.parametrize(
    "words",
    [
        "train dqn CartPole-v1 --quiet --out {name}",
        "evaluate {name}",
        "record {run} --steps 2 --out {name}.gif",
        "dial {run} --episodes 1 --out {name}.png",
        "export {run} --out {name}.onnx",
        "export {run} --card {name} --episodes 1",
        "smooth {run} CartPole-v1 --hysteresis-only --episodes 2 --out {name}",
        "theory --mdps 2 --examples --quiet --out {name}",
        "report {name}",
        "study {name}.toml",
    ],
)
def test_hostile_names_are_printed_as_they_are(
    words: str, run: Run, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / NAME).parent.mkdir()  # the name has a slash
    arguments = [word.format(name=NAME, run=finished) for word in words.split()]
    more = SHORT_FLAGS if words.startswith("train") else ()
    code, out, text = run(*arguments, *more)
    assert NAME in out + text
    assert code == (2 if words.split()[0] in ("evaluate", "report", "study") else 0)


def test_hostile_env_names_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    fresh().replace(task="Cart[/b]Pole-v1").save(tmp_path / "p.safetensors")
    code, _, text = run("evaluate", tmp_path / "p.safetensors")
    assert code == 2
    assert "Cart[/b]Pole-v1" in text


def test_a_path_that_is_no_utf8_is_printed(run: Run) -> None:
    code, _, text = run("evaluate", os.fsdecode(b"no\xffwhere"))
    assert code == 2
    assert text.startswith("policy-inertia: there is no file no\\udcffwhere, ")
