from policy_inertia.study import STUDIES
from policy_inertia.study.frontier import BUDGETS


def test_all_rivals_are_held_to_the_same_budgets():
    study = STUDIES["frontier"]
    assert len(study.experiments) == 4
    for experiment in study.experiments:
        assert experiment.budgets == BUDGETS
        methods = {x.method for x in experiment.lines}
        assert methods == {"dqn", "sac", "nsac", "dial-dqn", "dial-sac", "dqn-ip", "sac-ip"}
        acts = {
            x.config(study.settings, 0).config.act for x in experiment.lines if "dial" in x.label
        }
        assert acts == {"gate", "full"}
    cores = {
        x.config(study.settings, 0).config.core.target_period
        for x in study.experiments[0].lines
        if x.method == "dial-dqn"
    }
    assert cores == {500}
