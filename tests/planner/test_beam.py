"""Beam search against every sequence of actions, on a short horizon."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.actions.bucket import Limit
from policy_inertia.envs.highway import TASKS, TrafficEnv, configuration
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.metrics.episodes import Episode
from policy_inertia.planner import beam
from policy_inertia.planner.beam import BeamSearch, better
from tests.support.switch_counter import violations_of_episodes

STEPS = 4
SHORT = {"duration": STEPS}
CROWDED = {"duration": STEPS, "vehicles_count": 14}


def simulation(task: str, config: dict[str, Any], n: int = 16) -> Simulation:
    return Simulation(TASKS[task], configuration(TASKS[task], config), n)


def all_episodes(task: str, config: dict[str, Any], seed: int) -> list[Episode]:
    """Every sequence of actions, until its episode ends."""
    actions = simulation(task, config, 1).actions_count
    sequences = np.array(list(itertools.product(range(actions), repeat=STEPS)))
    scenes = simulation(task, config, len(sequences))
    scenes.begin(np.ones(scenes.n, bool), [seed] * scenes.n)
    returns, lengths = np.zeros(scenes.n), np.zeros(scenes.n, int)
    running, crashed = np.ones(scenes.n, bool), np.zeros(scenes.n, bool)
    for t in range(STEPS):
        scenes.step(sequences[:, t].copy())
        returns[running] += scenes.outcomes["reward"][running]
        lengths[running] += 1
        crashed[running] = scenes.outcomes["crashed"][running]
        running &= ~(scenes.outcomes["terminated"] | scenes.outcomes["truncated"])
    assert not running.any()
    return [
        Episode(float(r), s[:n], bool(c), bool(c))
        for r, s, n, c in zip(returns, sequences, lengths, crashed, strict=True)
    ]


def replayed(task: str, config: dict[str, Any], seed: int, actions: np.ndarray) -> float:
    """The return of these actions in the env itself; the last one must end the episode."""
    env = TrafficEnv(task, config)
    env.reset(seed=seed)
    total, ended = 0.0, False
    for action in actions:
        assert not ended
        _, reward, terminated, truncated, _ = env.step(action)
        total, ended = total + reward, terminated or truncated
    assert ended
    return total


@pytest.mark.parametrize(
    ("task", "config", "seed", "crashes"),
    [
        ("TwoWay", SHORT, 5, [False, False, False, False]),
        ("LaneChange", SHORT, 3, [False, False, False, False]),
        ("Intersection", SHORT, 0, [False, False, False, False]),
        ("Merge", CROWDED, 0, [True, True, True, True]),
        ("Merge", CROWDED, 5, [False, False, False, True]),
    ],
)
def test_a_beam_that_keeps_everything_finds_the_best_of_all_sequences(
    task: str, config: dict[str, Any], seed: int, crashes: list[bool]
) -> None:
    everything = all_episodes(task, config, seed)
    plans = BeamSearch(simulation(task, config), seed, STEPS - 1, len(everything)).run()
    for k, episode in enumerate(plans):
        best = None
        for other in everything:
            best = better(best, other if other.switches == k else None)
        assert episode is not None
        assert best is not None
        assert episode.switches == k
        assert episode.return_ == pytest.approx(best.return_, abs=1e-12)
        assert episode.crashed == best.crashed == crashes[k]


def test_the_last_beam_takes_episodes_with_more_switches_too() -> None:
    everything = all_episodes("Merge", CROWDED, 3)
    (best,) = BeamSearch(simulation("Merge", CROWDED), 3, 0, len(everything)).run()
    assert best is not None
    alive = [e for e in everything if not e.crashed]
    assert best.return_ == pytest.approx(max(e.return_ for e in alive), abs=1e-12)
    assert best.switches > 0


@pytest.mark.parametrize("task", ["TwoWay", "Intersection"])
def test_the_episodes_are_those_of_the_env_bit_for_bit_and_the_same_in_every_run(task: str) -> None:
    config = {"duration": 12}
    plans = BeamSearch(simulation(task, config), 7, 3, 20).run()
    again = BeamSearch(simulation(task, config, 5), 7, 3, 20).run()  # fewer scenes at a time
    for one, two in zip(plans, again, strict=True):
        assert one is not None
        assert two is not None
        assert one.actions.tolist() == two.actions.tolist()
        assert one.return_ == two.return_ == replayed(task, config, 7, one.actions)


def keeps(actions: list[int], limit: Limit) -> bool:
    """Whether a bucket that is counted in exact fractions has a token for every switch."""
    rate, burst = Fraction(str(limit.rate)), Fraction(str(limit.burst))
    tokens = burst
    for t, action in enumerate(actions):
        cost = int(t > 0 and action != actions[t - 1])
        if tokens < cost:
            return False
        tokens = min(tokens - cost + rate, burst)
    return True


@pytest.mark.parametrize("limit", [Limit(0.5), Limit(0.4, 1.5), Limit(0.0, 2)], ids=str)
@pytest.mark.parametrize(("task", "config"), [("TwoWay", SHORT), ("Merge", CROWDED)])
def test_within_a_limit_it_finds_the_best_of_all_sequences_that_keep_it(
    task: str, config: dict[str, Any], limit: Limit
) -> None:
    seed = 5
    everything = all_episodes(task, config, seed)
    plans = BeamSearch(simulation(task, config), seed, STEPS - 1, len(everything), limit).run()
    for k, episode in enumerate(plans):
        best = None
        for other in everything:
            possible = other.switches == k and keeps(other.actions.tolist(), limit)
            best = better(best, other if possible else None)
        assert (episode is None) == (best is None)
        if episode is not None and best is not None:
            assert episode.return_ == pytest.approx(best.return_, abs=1e-12)
            assert episode.crashed == best.crashed


@pytest.mark.parametrize(
    "limit", [Limit(0.1), Limit(0.1, 2), Limit(0.3, 1.5), Limit(0.0, 3)], ids=str
)
def test_every_plan_keeps_the_limit_in_every_window(limit: Limit) -> None:
    config = {"duration": 12, "scenario": "simple"}
    for seed in range(2):
        plans = BeamSearch(simulation("TwoWay", config), seed, 4, 10, limit).run()
        free = BeamSearch(simulation("TwoWay", config), seed, 4, 10).run()
        within, without = ([e.actions.tolist() for e in x if e is not None] for x in (plans, free))
        assert within
        assert not violations_of_episodes(within, limit.rate, limit.burst)
        assert violations_of_episodes(without, limit.rate, limit.burst)


@pytest.mark.parametrize("limit", [Limit(1.0), Limit(1.0, 3), Limit(0.0, 1_000)], ids=str)
def test_a_bucket_that_is_never_empty_changes_nothing(limit: Limit) -> None:
    config = {"duration": 12}
    plans = BeamSearch(simulation("TwoWay", config), 7, 3, 20, limit).run()
    free = BeamSearch(simulation("TwoWay", config), 7, 3, 20).run()
    for one, two in zip(plans, free, strict=True):
        assert one is not None
        assert two is not None
        assert one.actions.tolist() == two.actions.tolist()
        assert one.return_ == two.return_


def test_plans_that_spent_their_tokens_do_not_crowd_out_those_that_saved_them() -> None:
    search = BeamSearch(simulation("TwoWay", SHORT), 0, 2, 2, Limit(0.5, 2))
    rows, actions = np.arange(6), np.arange(6) % 3
    search.children.scenes["x"][:6, 0] = np.arange(6)  # all scenes differ
    returns = np.array([9.0, 8.0, 7.0, 3.0, 2.0, 1.0])
    tokens = np.array([0, 500_000, 0, 1_000_000, 1_500_000, 2_000_000])
    assert sorted(search._choose(rows, returns, actions, tokens).tolist()) == [0, 1, 3, 4, 5]


def test_an_episode_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam, "MOST_STEPS", 5)
    with pytest.raises(InputError, match="has not ended after 5 steps: give the task a duration"):
        BeamSearch(simulation("TwoWay", {}), 0, 0, 2).run()
