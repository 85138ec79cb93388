import re
from pathlib import Path

import pytest

from policy_inertia.tabular import limit_survey
from policy_inertia.tabular.examples import alternating
from tests.cli.conftest import Run


def test_theory_ends_in_a_table_and_pictures(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "theory"
    words = ("--mdps", 3, "--states", 3, "--examples", "windy-line", "--garnets", 0, "--out", out)
    code, text, _ = run("theory", *words)
    assert code == 0
    assert re.search(r"Theorem 3.1's rule: return +one length", text)
    assert re.search(r"Theorem 3.2, greedy: every Q +discounted", text)
    assert "Lemma 3.1" in (out / "checks.txt").read_text()
    assert {p.name for p in out.iterdir()} == {"checks.txt", "improvement.png", "tradeoff.png"}


def test_examples_can_be_left_out(run: Run, tmp_path: Path) -> None:
    words = (
        "--mdps",
        1,
        "--states",
        2,
        "--actions",
        2,
        "--garnets",
        0,
        "--out",
        tmp_path,
        "--examples",
    )
    assert run("theory", *words).code == 0
    assert {p.name for p in tmp_path.iterdir()} == {"checks.txt"}


def test_limits_are_compared_with_prices(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_survey, "FAMILIES", (limit_survey.Family("3 states", 3, 2, 0.9),))
    monkeypatch.setattr(limit_survey, "SCENES", {"taking turns": alternating})
    words = ("--mdps", 1, "--states", 2, "--garnets", 3, "--out", tmp_path, "--examples")
    code, text, _ = run("theory", *words)
    assert code == 0
    assert re.search(r"rate +xi +mixed +price +limit +lead +filter +breaks", text)
    assert re.search(r"taking turns +\n +0 +0\.375 ", text)
    assert "taking turns: 2; 3 states: " in (tmp_path / "checks.txt").read_text()
    assert {p.name for p in tmp_path.iterdir()} == {"checks.txt", "limits.png"}


def test_one_garnet_is_refused_before_anything_is_computed(run: Run, tmp_path: Path) -> None:
    code, _, error = run("theory", "--garnets", 1, "--out", tmp_path / "theory")
    assert code != 0
    assert "garnets is 1: it must be at least 2" in error
    assert not (tmp_path / "theory").exists()
