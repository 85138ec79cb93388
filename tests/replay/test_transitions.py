from collections import deque
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia.actions.discrete import Discrete
from policy_inertia.replay.transitions import TransitionReplay
from policy_inertia.types import Transition

ACTIONS = Discrete(7)


def batch(start: int, n: int, obs_dim: int = 3) -> Transition:
    """Transitions start, start + 1, ... whose every field tells its number."""
    i = np.arange(start, start + n)
    obs = i[:, None] + np.arange(obs_dim) / 10
    return Transition(obs, i % 7 - 1, i % 5, i * 1.5, 0.99 + i * 0, -obs)


@settings(max_examples=60, deadline=None)  # the first call compiles
@given(st.integers(1, 20), st.lists(st.integers(0, 20), max_size=12), st.integers(0, 2**32 - 1))
def test_ring_keeps_the_newest_transitions_whole(capacity: Any, sizes: Any, seed: int) -> None:
    replay, start = TransitionReplay(capacity, 3, ACTIONS), 0
    model: deque[Any] = deque(maxlen=capacity)
    for n in sizes:
        n = min(n, capacity)
        replay.add(batch(start, n))
        model.extend(range(start, start + n))
        start += n
    assert len(replay) == len(model)
    assert sorted(replay.state()["reward"].tolist()) == [i * 1.5 for i in model]
    if not model:
        return
    words = np.zeros((4, 5, replay.words.shape[1]), np.int32)
    replay.sample(np.random.default_rng(seed), (4, 5), words)
    drawn = replay.unpack(words)
    numbers = np.asarray(drawn.reward) / 1.5
    assert set(numbers.ravel().tolist()) <= set(model)
    for i, expected in np.ndenumerate(numbers):
        want = batch(round(expected), 1)
        for got, value in zip(drawn, want, strict=True):
            np.testing.assert_array_equal(np.asarray(got)[i], np.asarray(value[0], got.dtype))


def test_every_stored_transition_is_drawn_alike() -> None:
    replay = TransitionReplay(50, 1, ACTIONS)
    replay.add(batch(0, 10, 1))  # a fifth of the room
    words = np.zeros((100, 100, replay.words.shape[1]), np.int32)
    replay.sample(np.random.default_rng(0), (100, 100), words)
    counts = np.bincount(np.asarray(replay.unpack(words).obs)[..., 0].ravel().astype(int))
    assert len(counts) == 10
    assert abs(counts - 1000).max() < 150  # five standard deviations


def test_same_generator_same_minibatches() -> None:
    replay = TransitionReplay(100, 3, ACTIONS)
    replay.add(batch(0, 60))
    first, second = (np.zeros((3, 8, replay.words.shape[1]), np.int32) for _ in range(2))
    replay.sample(np.random.default_rng(5), (3, 8), first)
    replay.sample(np.random.default_rng(5), (3, 8), second)
    np.testing.assert_array_equal(first, second)


def test_restored_ring_goes_on_like_the_first() -> None:
    one, two = TransitionReplay(8, 3, ACTIONS), TransitionReplay(8, 3, ACTIONS)
    one.add(batch(0, 5))
    one.add(batch(5, 6))
    two.restore(one.state().copy(), one.added)
    for replay in (one, two):
        replay.add(batch(11, 3))
    np.testing.assert_array_equal(one.records, two.records)
