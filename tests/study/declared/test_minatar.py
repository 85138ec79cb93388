from pathlib import Path

from policy_inertia.study.analysis.claims import Side
from policy_inertia.study.declared.minatar import STUDY
from policy_inertia.study.declared.minatar_claims import CLAIMS, FIT_CLAIMS, minatar_page
from policy_inertia.study.run_records import Records
from tests.support.pictures import is_made_again

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "minatar"


def test_three_games_and_four_methods_are_declared() -> None:
    runs = STUDY.runs(Path("runs/minatar"))
    assert len(runs) == 3 * 4 * 5
    assert {run.config.seed for run in runs} == {100, 101, 102, 103, 104}
    assert {run.config.steps for run in runs} == {500_000}
    assert {run.config.env.removeprefix("policy_inertia/MinAtar-") for run in runs} == {
        "Breakout-v0",
        "Asterix-v0",
        "SpaceInvaders-v0",
    }
    nested = [run.config.config for run in runs if run.config.method == "nsac"]
    assert {getattr(config, "improvement", "") for config in nested} == {"gradient", "closed-form"}
    assert all(run.hysteresis for run in runs)


def test_claims_are_about_all_lines_of_the_study() -> None:
    lines = {Side(e.name, x.task.name, x.label) for e, x in STUDY.lines()}
    assert {side for claim in (*CLAIMS, *FIT_CLAIMS) for side in claim.sides} == lines


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(RESULTS)
    runs = [r for r in STUDY.runs(Path("runs/minatar")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []


def test_the_page_is_made_from_the_records() -> None:
    """After new records: policy-inertia verdict minatar."""
    page = minatar_page(RESULTS)
    assert (ROOT / "docs" / "minatar.md").read_text() == page.text
    for name, data in page.pictures.items():
        assert is_made_again(data, ROOT / "docs" / "images" / name), name
