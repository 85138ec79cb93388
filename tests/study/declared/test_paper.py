from pathlib import Path
from typing import Any

from policy_inertia.study.declared.atari_proof import STUDY as PROOF
from policy_inertia.study.declared.paper import STUDY
from policy_inertia.study.run_records import Records

ROOT = Path(__file__).parents[3]


def test_all_figures_of_the_paper_are_declared() -> None:
    names = [e.name for e in STUDY.only(()).experiments]
    assert names == ["base", "action-repetition", "reward-penalty", "scenarios", "mu0", "alpha"]
    base = STUDY.experiments[0]
    assert {x.method for x in base.lines} == {"dqn", "sac", "nsac"}
    assert len({x.task.env for x in base.lines}) == 4
    assert STUDY.seeds == (100, 101, 102, 103, 104)
    config = base.lines[0].config(STUDY.settings, 0)
    assert (config.eval_every, config.eval_episodes) == (5_000, 20)
    simple = [x for x in STUDY.experiments[3].lines if x.task.name != "Two-Way"]
    assert simple[0].config(STUDY.settings, 0).env_kwargs == {"config": {"scenario": "simple"}}
    assert len(STUDY.only(["mu0"]).experiments) == 1


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(ROOT / "results" / "paper")
    runs = [r for r in STUDY.runs(Path("runs/paper")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []


def test_atari_runs_on_request_only_and_its_proof_is_a_study_of_its_own() -> None:
    (atari,) = STUDY.only(["atari"]).experiments
    assert {line.method for line in atari.lines} == {"dqn", "sac", "nsac"}
    assert len({line.task.env for line in atari.lines}) == 4
    nsac = next(line for line in atari.lines if line.method == "nsac")
    assert nsac.config(STUDY.settings, 100).steps == 1_000_000
    controller: Any = nsac.config(STUDY.settings, 100).config
    assert (controller.temperature, controller.pic_learning_rate) == (1e-4, 3e-3)
    runs = PROOF.runs(Path("runs/atari-proof"))
    assert [(r.config.method, r.config.seed, r.config.steps) for r in runs] == [
        (method, 100, 30_000) for method in ("dqn", "sac", "nsac")
    ]
    assert {r.config.env for r in runs} == {"policy_inertia/Qbert-v0"}
