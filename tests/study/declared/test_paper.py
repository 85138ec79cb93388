from policy_inertia.study.declared.paper import STUDY


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
