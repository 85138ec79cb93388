"""The recipe for a measure, followed literally."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest

import policy_inertia as pi
from policy_inertia.cli.view import out, show_calibration, show_figures
from policy_inertia.metrics.measures import MEASURES
from policy_inertia.smoothing.verdict import Candidate, comparison_table
from policy_inertia.study.report import page as report
from tests.support.policies import fresh
from tests.support.recipes import Follow
from tests.support.runs import SHORT
from tests.support.synthetic_results import trained


def jittery() -> pi.Policy:
    """A policy that switches on CartPole at nearly every step."""
    policy = fresh("dqn", seed=4)
    for layer in policy.params:
        layer["b"][:] = 0
    return policy


@pytest.fixture
def row(follow: Follow) -> None:
    follow("A measure", MEASURES)


@pytest.fixture
def headline(row: None) -> None:
    MEASURES["switches"] = dataclasses.replace(MEASURES["switches"], view="headline")


@pytest.mark.usefixtures("row")
def test_a_row_appears_in_evaluations_and_their_table() -> None:
    evaluation = pi.evaluate(jittery(), "CartPole-v1", 4)
    figures = evaluation.summary()
    assert figures["switches"] == sum(e.switches for e in evaluation.episodes) / 4 > 20
    with out.capture() as shown:
        show_figures("CartPole-v1", {"greedy": figures})
    assert f"{figures['switches']:.1f}" in shown.get()
    assert "switches" in shown.get()


@pytest.mark.usefixtures("row")
def test_a_row_of_actions_alone_appears_for_logs() -> None:
    assert pi.measure([[0, 1, 0], [1, 1]]).figures["switches"] == 1


@pytest.mark.usefixtures("row")
def test_a_row_appears_in_the_log_of_a_run(tmp_path: Path) -> None:
    pi.train("dqn", "CartPole-v1", tmp_path / "run", **SHORT)
    records = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert all(json.loads(record)["eval/switches"] >= 0 for record in records)
    (events,) = (tmp_path / "run").glob("events.*")  # TensorBoard
    assert b"eval/switches" in events.read_bytes()
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["greedy"]["switches"] >= 0


@pytest.mark.usefixtures("row")
def test_a_row_appears_in_model_cards(tmp_path: Path) -> None:
    policy = jittery()
    pi.model_card(policy, tmp_path, episodes=2)
    switches = pi.evaluate(policy, "CartPole-v1", 2, deterministic=True).summary()["switches"]
    text = (tmp_path / "README.md").read_text()
    assert f"| Switches (per episode) | {switches:.1f} |" in text
    assert json.loads((tmp_path / "results.json").read_text())["switches"] == switches


@pytest.mark.usefixtures("row")
def test_a_row_appears_in_calibrations() -> None:
    policy = pi.calibrate(jittery(), "CartPole-v1", 2, settings=[0.0, 1e9])
    assert policy.calibration is not None
    free, frozen = (each.figures["switches"] for each in policy.calibration.rows)
    assert free is not None
    assert free > 20
    assert frozen == 0


@pytest.mark.usefixtures("row")
def test_a_row_appears_in_the_csv_and_the_report_of_a_study(tmp_path: Path) -> None:
    results = trained(tmp_path / "study", "CartPole-v1", "CartPole", {"DQN": "dqn"})
    page = report.write(results, tmp_path / "report.html", inspect=False)
    with (tmp_path / "summary.csv").open() as file:
        rows = [each for each in csv.DictReader(file) if each["measure"] == "switches"]
    assert {each["actions"] for each in rows} == {"sampled", "greedy"}
    text = page.read_text()
    assert "switches (per episode)" in text
    assert f"{float(rows[0]['estimate']):.1f}" in text


@pytest.mark.usefixtures("headline")
def test_a_headline_row_appears_in_narrow_tables_too() -> None:
    policy = pi.calibrate(jittery(), "CartPole-v1", 2, settings=[0.0])
    assert policy.calibration is not None
    assert "switches" in str(policy.calibration)
    with out.capture() as shown:
        show_calibration("CartPole-v1", policy.calibration)
    assert "switches" in shown.get()
    evaluation = pi.evaluate(policy, "CartPole-v1", 2)
    candidate = Candidate.of_evaluation("core", policy, evaluation)
    assert "switches" in comparison_table([candidate])
