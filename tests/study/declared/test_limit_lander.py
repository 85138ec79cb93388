from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia.study.analysis.at_budget import read_records
from policy_inertia.study.declared.limit import BUDGETS
from policy_inertia.study.declared.limit_lander import STUDY
from policy_inertia.study.report.markdown import kept_table
from policy_inertia.study.run_records import Records, read_record

ROOT = Path(__file__).parents[3]


def test_all_lines_have_the_same_learner_steps_and_network() -> None:
    lines = [line for experiment in STUDY.experiments for line in experiment.lines]
    assert [line.label for line in lines] == ["twin critics", "limit", "DQN", "dial by price"]
    configs = [line.config(STUDY.settings, 120) for line in lines]
    assert len({(c.steps, c.batch_size, c.gamma, c.envs) for c in configs}) == 1
    controllers: list[Any] = [c.config for c in configs if c.config.traits.nested]
    assert len({(c.pessimistic, c.target_rate) for c in controllers}) == 1
    learners: list[Any] = [c.config for c in configs] + [c.core for c in controllers]
    same = {(c.learning_rate, c.hidden, c.train_interval, c.huber, c.averaged) for c in learners}
    assert len(same) == 1
    assert all(experiment.limits == BUDGETS for experiment in STUDY.experiments)
    assert min(STUDY.seeds) > 119  # those before were looked at


def test_what_the_page_says_of_the_first_round_are_the_means_of_its_runs() -> None:
    files: Any = map(read_record, (ROOT / "results" / "limit-lander-double").rglob("*.json"))
    within: dict[str, dict[int, float]] = {"limit-dqn": {}, "dial-dqn": {}}
    free: dict[str, dict[int, float]] = {"limit-dqn": {}, "dial-dqn": {}}
    for record in files:
        method, seed = record.config["method"], record.config["seed"]
        free[method][seed] = record.result.greedy["return"]
        within[method][seed] = record.tuned_limits["0.1"]["greedy"]["return"]
    page = " ".join((ROOT / "docs" / "limits-lander.md").read_text().split())
    means = [
        np.mean(list(x.values()))
        for x in (free["dial-dqn"], within["limit-dqn"], free["limit-dqn"])
    ]
    learner, limit, unlimited = means
    assert f"The learner returns {learner:.0f} (mean of five seeds)" in page
    assert f"has {limit:.0f} within 0.1, and {unlimited:.0f} without a limit" in page
    others = [
        np.mean([x[s] for s in x if s != 118]) for x in (within["limit-dqn"], free["limit-dqn"])
    ]
    assert f"{others[0]:.0f} within 0.1 and {others[1]:.0f} without a limit" in page
    assert min(others[0] / learner / 0.95, others[1] / learner / 0.98) > 1
    assert max(limit / learner / 0.95, unlimited / learner / 0.98) < 1
    assert f"has {np.mean(list(within['dial-dqn'].values())):.0f} within 0.1 and" in page


def test_what_the_page_says_of_the_second_round_are_the_means_of_its_runs() -> None:
    files: Any = map(read_record, (ROOT / "results" / "limit-lander").rglob("*.json"))
    free: dict[str, list[float]] = {"limit-dqn": [], "dial-dqn": []}
    within: dict[str, list[dict[str, float]]] = {"limit-dqn": [], "dial-dqn": []}
    for record in files:
        free[record.config["method"]].append(record.result.greedy["return"])
        within[record.config["method"]].append(record.tuned_limits["0.1"]["greedy"])
    assert [len(runs) for runs in free.values()] == [5, 5]
    learner, unlimited = np.mean(free["dial-dqn"]), np.mean(free["limit-dqn"])
    limit = np.mean([row["return"] for row in within["limit-dqn"]])
    xi = [row["oscillation_ratio"] for row in within["limit-dqn"]]
    page = " ".join((ROOT / "docs" / "limits-lander.md").read_text().split())
    assert f"The learner returns {learner:.1f} (mean of five seeds)" in page
    assert f"has {limit:.1f} within 0.1 ({limit / learner:.1%}), at a measured" in page
    assert f"oscillation of {np.mean(xi):.3f}; one of the five seeds has {max(xi):.3f}" in page
    assert f"Without a limit it has {unlimited:.1f} ({unlimited / learner:.1%})" in page
    assert min(limit / learner / 0.95, unlimited / learner / 0.98) >= 1
    rival = np.mean([row["return"] for row in within["dial-dqn"]])
    assert f"the best threshold inside the best limit, has {rival:.1f} within 0.1" in page


@pytest.mark.parametrize("study", ["limit-lander", "limit-lander-double"])
def test_the_page_says_how_many_cells_are_above_their_budget(study: str) -> None:
    records = read_records(ROOT / "results" / study / "records.csv")
    assert kept_table(records) in (ROOT / "docs" / "limits-lander.md").read_text()


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(ROOT / "results" / "limit-lander")
    runs = [r for r in STUDY.runs(Path("runs/x")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []
