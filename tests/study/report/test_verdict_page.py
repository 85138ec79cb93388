from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.study.declared.paper import STUDY
from policy_inertia.study.declared.paper_claims import CLAIMS, FIT_CLAIMS, INERTIA, INTRODUCTION
from policy_inertia.study.report.verdict_files import with_table, write_page
from policy_inertia.study.report.verdict_page import END, START, VerdictPage, verdict_page
from tests.support.paper_results import paper_results


@pytest.fixture(scope="module")
def page() -> VerdictPage:
    """The page of a study of which Atari and mu0 were not run."""
    results = paper_results(lambda e: e.name not in ("atari", "mu0"))
    return verdict_page(STUDY, INTRODUCTION, CLAIMS, FIT_CLAIMS, results, INERTIA)


def test_every_claim_has_a_line_with_a_verdict(page: VerdictPage) -> None:
    lines = page.table.splitlines()[2:]
    verdicts = [line.split("|")[3].strip(" *") for line in lines]
    assert len(lines) == len(CLAIMS)
    missing = {i: "not run" in v for i, v in enumerate(verdicts)}
    assert [CLAIMS[i].place for i, gone in missing.items() if gone] == [
        "Figure base_results (e) to (h)",
        "Figure base_results (e) to (h)",
        "Figure complex_p0",
        "Figure complex_p0",
    ]
    assert {v for v in verdicts if "not run" not in v} <= {"reproduced", "partly", "not"}


def test_a_line_has_effect_interval_seeds_and_reason(page: VerdictPage) -> None:
    line = page.table.splitlines()[2]
    assert "ξ, NSAC − SAC: -0." in line
    assert "cells hold; 5 seeds" in line
    assert "μ does nothing in 8 of 20 runs of NSAC" in line


def test_the_closed_form_is_judged_by_the_same_rule(page: VerdictPage) -> None:
    lines = [x for x in page.text.splitlines() if x.startswith("| NSAC by the closed form")]
    assert len(lines) == len(FIT_CLAIMS) == 2
    assert all("μ does nothing in 0 of 20 runs of NSAC, closed form" in line for line in lines)


def test_the_rule_for_the_default_is_applied(page: VerdictPage) -> None:
    assert "does something in 25 of 25 runs" in page.text
    assert "become the default" in page.text or "becomes the default" in page.text


def test_the_page_shows_every_picture_and_no_other(page: VerdictPage) -> None:
    assert set(page.pictures) == {
        "paper-ties.png",
        "paper-mu.png",
        *(f"paper-{t}.png" for t in ("lane-change", "merge", "intersection", "two-way")),
        "paper-two-way-simple.png",
    }
    for name in page.pictures:
        assert page.text.count(f"(images/{name})") == 1


def test_a_page_without_any_record_can_be_made() -> None:
    nothing = paper_results(lambda _: False)
    page = verdict_page(STUDY, INTRODUCTION, CLAIMS, FIT_CLAIMS, nothing, INERTIA)
    assert "Not decided: 0 of 25 runs have a record." in page.text
    assert page.table.count("**not run (0 of") == len(CLAIMS)
    assert list(page.pictures) == ["paper-ties.png"]


def test_the_files_are_written_and_the_table_replaces_the_old_one(
    page: VerdictPage, tmp_path: Path
) -> None:
    (tmp_path / "results.md").write_text(f"before\n{START}\nold\n{END}\nafter\n")
    for _ in range(2):
        write_page(page, tmp_path)
        text = (tmp_path / "results.md").read_text()
        assert text == f"before\n{START}\n\n{page.table}\n\n{END}\nafter\n"
    assert (tmp_path / "paper.md").read_text() == page.text
    assert {f.name for f in (tmp_path / "images").iterdir()} == set(page.pictures)


def test_an_overview_without_a_place_for_the_table_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="has no place for the table: put it between"):
        with_table("a page", "| a |")
