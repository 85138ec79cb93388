"""Seeds: no episode of an evaluation is an episode of training."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.seeds import Stream, stream_seed, training_seed
from policy_inertia.training.session import Session

SEEDS = (0, 1, 7, 2**31 - 1)


def test_keys_that_differ_in_trailing_zeros_have_different_seeds() -> None:
    keys: list[tuple[int, ...]] = [(), (0,), (0, 0), (0, 0, 0), (1,), (1, 0), (1, 0, 0)]
    assert len({stream_seed(0, Stream.EPISODE, *key) for key in keys}) == len(keys)


def test_no_seed_of_an_evaluation_is_a_seed_of_training() -> None:
    few = range(20)
    training = {training_seed(s, i, k) for s in SEEDS for i in few for k in few}
    assert len(training) == len(SEEDS) * 400
    streams = {
        stream_seed(s, stream, *key)
        for s in SEEDS
        for stream in Stream
        for key in ((), *((k,) for k in few))
    }
    assert len(streams) == len(SEEDS) * len(Stream) * 21
    assert not training & streams


@pytest.mark.parametrize("seed", SEEDS)
def test_streams_are_no_generators_of_a_session(seed: int) -> None:
    """A session spawns three generators from its seed; no stream starts like one of them."""
    generators = np.random.SeedSequence(seed).spawn(3)
    words = {int(generator.generate_state(1)[0]) for generator in generators}
    assert not words & {stream_seed(seed, stream) for stream in Stream}


def test_training_keeps_its_seeds() -> None:
    expected = np.random.SeedSequence((3, 0, 2, 5)).generate_state(1)[0]
    assert training_seed(3, 2, 5) == expected


class Seen(gym.Wrapper):
    """CartPole that notes the seeds of its resets."""

    seeds: list[int] = []  # noqa: RUF012 - shared by all copies

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[object, dict]:
        Seen.seeds.append(int(seed or 0))
        return self.env.reset(seed=seed)


class PushLeft:
    """Pushes left, always."""

    def predict(
        self, obs: np.ndarray, state: object = None, starts: object = None, greedy: bool = False
    ) -> tuple[np.ndarray, None]:
        return np.zeros(len(obs), int), None


def test_first_evaluation_episode_is_not_the_first_training_episode() -> None:
    Seen.seeds = []
    config = pi.settings("dqn", "CartPole-v1", envs=4, seed=0)
    session = Session(config, Seen)
    for _ in range(60):
        session.advance()
    session.envs.close()
    trained, Seen.seeds = set(Seen.seeds), []
    evaluate(PushLeft(), Seen, episodes=5, seed=0)
    assert len(trained) > 4
    assert not trained & set(Seen.seeds)
