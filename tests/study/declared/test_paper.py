from pathlib import Path

from policy_inertia.study.declared.paper import STUDY
from policy_inertia.study.run_records import Records

ROOT = Path(__file__).parents[3]


def test_all_figures_of_the_paper_are_declared() -> None:
    names = [e.name for e in STUDY.experiments]
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
