from typing import Any

import numpy as np
import pytest

from policy_inertia.actions.discrete import Discrete
from policy_inertia.errors import InputError
from policy_inertia.replay.skips import SkipReplay
from policy_inertia.types import Transition

REPEATS = (1, 2, 3)
ACTIONS = Discrete(6)


def rows(*choices: int, first: int = 0) -> Transition:
    """Transitions of these choices, whose observations and rewards count from `first` on."""
    number = np.arange(first, first + len(choices))
    obs = np.stack([number, -number], 1).astype(np.float32)
    choice = np.array(choices)
    return Transition(obs, choice, choice, number / 2, number / 4, obs + 1)


def replay(capacity: int = 8) -> SkipReplay:
    return SkipReplay(capacity, 2, ACTIONS, REPEATS)


def drawn(ring: SkipReplay, n: int = 40, seed: int = 0) -> Transition:
    out = np.zeros((2, n, ring.width), np.int32)
    ring.sample(np.random.default_rng(seed), (2, n), out)
    return ring.unpack(out[1])


def test_single_steps_are_in_both_rings_and_are_counted() -> None:
    ring = replay()
    ring.add(rows(0, 1, 3, 5))  # one step, two steps, one step, three steps
    assert (len(ring), ring.added) == (2, 2)
    assert (len(ring.steps), len(ring.skips)) == (2, 4)
    assert ring.steps.state()["action"].tolist() == [0, 3]


def test_a_minibatch_is_single_steps_and_then_as_many_skips() -> None:
    ring = replay()
    ring.add(rows(0, 1, 3, 5))
    batch = drawn(ring)
    choice = np.asarray(batch.action)
    assert set(choice[:40].tolist()) == {0, 3}
    assert set(choice[40:].tolist()) == {0, 1, 3, 5}
    number = np.asarray(batch.obs)[:, 0]  # every row is a transition that was stored
    assert np.array_equal(choice, np.array([0, 1, 3, 5])[number.astype(int)])
    np.testing.assert_array_equal(batch.reward, number / 2)
    np.testing.assert_array_equal(batch.discount, number / 4)
    np.testing.assert_array_equal(batch.next_obs, np.asarray(batch.obs) + 1)


def test_each_ring_forgets_its_own_oldest() -> None:
    ring = replay(3)
    ring.add(rows(0, 1, 2))
    ring.add(rows(3, 4, first=3))
    assert sorted(ring.skips.state()["action"].tolist()) == [2, 3, 4]
    assert sorted(ring.steps.state()["action"].tolist()) == [0, 3]


def test_restored_rings_go_on_like_the_first() -> None:
    one, two = replay(3), replay(3)
    one.add(rows(0, 1, 2))
    one.add(rows(3, 4, first=3))
    two.restore(one.state(), one.added)
    for ring in (one, two):
        ring.add(rows(3, 5, first=5))
    for mine, theirs in zip(drawn(one), drawn(two), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "harm",
    [
        lambda state: state["steps"],
        lambda state: {**state, "more": state["counts"]},
        lambda state: {**state, "counts": np.array([1, 4])},
        lambda state: {**state, "counts": np.array([2, 1])},
        lambda state: {**state, "counts": np.array([2.0, 4.0])},
        lambda state: {**state, "counts": np.array([2])},
        lambda state: {**state, "skips": state["skips"][:2]},
        lambda state: {**state, "steps": state["counts"]},
    ],
)
def test_states_that_do_not_fit_are_refused(harm: Any) -> None:
    ring = replay()
    ring.add(rows(0, 1, 3, 5))
    with pytest.raises(InputError, match="damaged or has other observations"):
        replay().restore(harm(ring.state()), 2)
