from pathlib import Path

from policy_inertia.settings import settings
from policy_inertia.study.analysis import constant_action as constant
from policy_inertia.study.results import Experiment, Results, Series


def test_best_single_action_is_a_rival_at_every_budget_and_never_switches():
    """On Intersection whoever always brakes never arrives; going on does, or crashes."""
    config = settings(
        "dqn", "policy_inertia/Intersection-v0", calibration_episodes=4, final_episodes=6
    ).to_dict()
    line = Series(
        "dqn", "Crossing", "dqn", config["env"], config, [3, 5], [], [], [], {}, {0.1: [], 0.2: []}
    )
    experiment = Experiment("e", "E", "", False, [line, line])
    told = []
    found = constant.records(Results("t", "", "", {}, Path(), [experiment], []), told.append)
    assert told == ["Crossing: one action"]
    assert len(found) == 2 * 2 * 2  # seeds, budgets, ways; the task counts once
    assert {(r.seed, r.budget, r.way) for r in found} == {
        (s, b, w) for s in (3, 5) for b in (0.1, 0.2) for w in ("greedy", "sampled")
    }
    for r in found:
        assert (r.label, r.oscillation_ratio) == ("one action", 0.0)
        assert r.calibrated_return > 0
        assert r.mean_return + 5 * r.crash_rate == 5  # it arrives, which earns 5, or it crashes
