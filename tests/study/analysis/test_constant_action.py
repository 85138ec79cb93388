from pathlib import Path

import pytest

from policy_inertia.run_settings import settings
from policy_inertia.study.analysis.constant_action import constant_action_records
from policy_inertia.study.results import ExperimentResults, LineResults, Results


def test_the_best_single_action_is_a_rival_at_every_budget() -> None:
    """On Intersection a car that always brakes never arrives; a car that drives on may crash."""
    config = settings(
        "dqn", "policy_inertia/Intersection-v0", calibration_episodes=4, final_episodes=6
    ).to_dict()
    line = LineResults(
        "dqn", "Crossing", "dqn", config["env"], config, [3, 5], [], [], [], {}, {0.1: [], 0.2: []}
    )
    experiment = ExperimentResults("e", "E", "", False, [line, line])
    watched: list[str] = []
    records = constant_action_records(
        Results("t", "", "", {}, Path(), [experiment], []), watched.append
    )
    assert watched == ["Crossing: one action"]
    assert len(records) == 2 * 2 * 2  # seeds, budgets, actions; the task counts once
    assert {(r.seed, r.budget, r.actions) for r in records} == {
        (s, b, a) for s in (3, 5) for b in (0.1, 0.2) for a in ("greedy", "sampled")
    }
    for r in records:
        assert (r.label, r.figures["oscillation_ratio"]) == ("one action", 0.0)
        assert r.figures["calibrated_return"] > 0
        # an arrival returns 5 and a crash 0; a car may also crash in the step in which it arrives
        assert 5 * (1 - r.figures["crash_rate"]) <= r.figures["return"] + 1e-9 <= 5 + 1e-9
        assert r.figures["return"] * 6 % 5 == pytest.approx(0, abs=1e-9)
