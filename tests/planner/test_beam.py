"""Beam search against every sequence of actions, on a short horizon."""

import itertools
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.envs.highway import TASKS, TrafficEnv, configuration
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.metrics.episodes import Episode
from policy_inertia.planner import beam
from policy_inertia.planner.beam import BeamSearch, better

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


def test_an_episode_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam, "MOST_STEPS", 5)
    with pytest.raises(InputError, match="has not ended after 5 steps: give the task a duration"):
        BeamSearch(simulation("TwoWay", {}), 0, 0, 2).run()
