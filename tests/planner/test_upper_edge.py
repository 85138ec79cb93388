"""Budgets that are shared among episodes, and what the planner refuses."""

import itertools
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.actions.bucket import Limit
from policy_inertia.metrics.episodes import Episode
from policy_inertia.planner.upper_edge import Plans, UpperEdge, find_upper_edge, plan_episode
from tests.planner.test_beam import simulation
from tests.support.switch_counter import violations_of_episodes

TINY: dict[str, Any] = {"beam": 5, "widest": 10, "env_kwargs": {"config": {"duration": 5}}}


def episode(switches: int, return_: float, crashed: bool = False, length: int = 10) -> Episode:
    actions = np.zeros(length, int)
    actions[length - switches :] = np.arange(switches) % 2 + 1
    return Episode(return_, actions, crashed, crashed)


def edge(*options: list[Episode]) -> UpperEdge:
    return UpperEdge("t", {}, tuple(Plans(k, 1, True, tuple(o)) for k, o in enumerate(options)))


def test_a_budget_is_shared_as_well_as_any_choice_of_episodes_shares_it() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        options = [
            [episode(k, float(rng.normal(k)), bool(rng.random() < 0.4), 10) for k in range(4)]
            for _ in range(4)
        ]
        for budget in (0.0, 0.1, 0.17, 0.25):
            chosen = edge(*options).within(budget)
            assert sum(e.switches for e in chosen.episodes) <= 40 * budget + 1e-9
            best = max(
                (-sum(bool(e.crashed) for e in choice), sum(e.return_ for e in choice))
                for choice in itertools.product(*options)
                if sum(e.switches for e in choice) <= 40 * budget + 1e-9
            )
            mine = chosen.episodes
            assert -sum(bool(e.crashed) for e in mine) == best[0]
            assert sum(e.return_ for e in mine) == pytest.approx(best[1])


def test_easy_starts_leave_their_switches_to_hard_ones() -> None:
    easy = [episode(0, 9.0), episode(1, 9.1)]
    hard = [episode(0, 2.0), episode(2, 8.0)]
    both = edge(easy, hard)
    assert both.within(0.1).summary()["return"] == 8.5
    assert both.within(0.1).summary()["oscillation_ratio"] == 0.1
    assert both.within().summary()["return"] == pytest.approx(8.55)


def test_a_crash_is_never_preferred() -> None:
    both = edge([episode(0, 20.0, crashed=True), episode(1, 3.0)])
    assert both.within(0.05).summary()["crash_rate"] == 1
    assert both.within(0.1).summary() == both.within().summary()
    assert both.within(0.1).summary()["return"] == 3.0


def test_more_switches_never_crash_more_nor_return_less() -> None:
    real = find_upper_edge("policy_inertia/TwoWay-v0", 3, 2, **TINY)
    rows = [real.within(b).summary() for b in (0, 0.1, 0.2, 0.4, 0.6)] + [real.within().summary()]
    for fewer, more in itertools.pairwise(rows):
        assert more["crash_rate"] <= fewer["crash_rate"]
        if more["crash_rate"] == fewer["crash_rate"]:
            assert more["return"] >= fewer["return"]
        assert fewer["episodes"] == 3


def test_a_beam_is_widened_until_it_stops_rising_and_never_gets_worse() -> None:
    scenes = simulation("TwoWay", {"scenario": "simple"})
    narrow = plan_episode(scenes, 0, 4, 2, 2)
    wide = plan_episode(scenes, 0, 4, 16, 10_000)
    assert (narrow.width, narrow.settled) == (2, False)
    assert wide.settled
    assert 64 <= wide.width < 10_000
    assert not wide.episodes[-1].crashed
    assert narrow.episodes[-1].crashed


def test_within_a_limit_every_episode_keeps_it_whatever_the_budget() -> None:
    limit = Limit(0.2, 1.5)
    options = TINY | {"env_kwargs": {"config": {"duration": 10, "scenario": "simple"}}}
    real = find_upper_edge("policy_inertia/TwoWay-v0", 3, 2, **options, limit=limit)
    episodes = [e.actions.tolist() for plans in real.plans for e in plans.episodes]
    assert not violations_of_episodes(episodes, limit.rate, limit.burst)
    assert list(real.figures((0.1,))) == ["0.1", "0.2 per step, burst 1.5"]
    assert real.within().summary()["oscillation_ratio"] > 0


def test_a_bucket_that_is_never_empty_is_no_limit() -> None:
    free = find_upper_edge("policy_inertia/TwoWay-v0", 2, **TINY)
    same = find_upper_edge("policy_inertia/TwoWay-v0", 2, **TINY, limit=Limit(1.0, 2))
    assert same.within().summary() == free.within().summary()
    assert same.within(0.2).summary() == free.within(0.2).summary()


STEERED = {"config": {"action": {"type": "ContinuousAction"}}}


@pytest.mark.parametrize(
    ("env", "changes", "message"),
    [
        ("CartPole-v1", {}, "the scenes of CartPole-v1 cannot be copied.*such as TwoWay"),
        ("policy_inertia/TwoWay-v0", {"beam": 0}, "beam is 0: a beam keeps at least 1"),
        (
            "policy_inertia/TwoWay-v0",
            {"beam": 10**9, "widest": 10**9},
            "needs .* GB are free, so give at most",
        ),
        ("policy_inertia/TwoWay-v0", {"widest": 0}, "widest is 0 and beam is 50: .* at least the"),
        ("policy_inertia/TwoWay-v0", {"beam": 20, "widest": 10}, "widest is 10 and beam is 20"),
        ("policy_inertia/TwoWay-v0", {"episodes": 0}, "plan at least one"),
        ("TwoWay", {"limit": Limit(0.1, carry_over=True)}, "carries tokens over.*leave carry_over"),
        ("policy_inertia/TwoWay-v0", {"env_kwargs": STEERED}, "the planner needs discrete ones"),
    ],
)
def test_what_cannot_be_planned_is_refused(env: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_upper_edge(env, **{"episodes": 1, **changes})


def test_a_budget_is_a_ratio() -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        edge([episode(0, 1.0)]).within(1.5)
