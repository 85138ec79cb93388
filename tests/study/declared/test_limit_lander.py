from pathlib import Path
from typing import Any

from policy_inertia.study.declared.limit import BUDGETS
from policy_inertia.study.declared.limit_lander import STUDY
from policy_inertia.study.run_records import Records

ROOT = Path(__file__).parents[3]


def test_all_lines_have_the_same_learner_steps_and_network() -> None:
    lines = [line for experiment in STUDY.experiments for line in experiment.lines]
    assert [line.label for line in lines] == ["twin critics", "limit", "DQN", "dial by price"]
    configs = [line.config(STUDY.settings, 115) for line in lines]
    assert len({(c.steps, c.batch_size, c.gamma, c.envs) for c in configs}) == 1
    controllers: list[Any] = [c.config for c in configs if c.config.traits.nested]
    assert len({(c.pessimistic, c.target_rate) for c in controllers}) == 1
    learners: list[Any] = [c.config for c in configs] + [c.core for c in controllers]
    same = {(c.learning_rate, c.hidden, c.train_interval, c.huber, c.averaged) for c in learners}
    assert len(same) == 1
    assert all(experiment.limits == BUDGETS for experiment in STUDY.experiments)
    assert min(STUDY.seeds) > 109  # 105 and 106 were looked at in design


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(ROOT / "results" / "limit-lander")
    runs = [r for r in STUDY.runs(Path("runs/x")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []
