"""The replay buffer that knows the observation before each transition."""

import numpy as np
import pytest

from policy_inertia.actions.box import Box
from policy_inertia.errors import InputError
from policy_inertia.replay.preceded import PrecededReplay
from policy_inertia.types import Transition

ACTIONS = Box((-1.0,), (1.0,), (1,))


def rows(obs: list[float], starts: list[bool]) -> Transition:
    """Transitions from these observations to the numbers that follow them."""
    at, n = np.array(obs, np.float32)[:, None], len(obs)
    before = np.where(np.array(starts)[:, None], np.nan, 0.5)
    return Transition(at, before, np.zeros((n, 1)), np.zeros(n), np.ones(n), at + 1)


def stored(replay: PrecededReplay) -> list[list[float]]:
    """Observation before, observation and next observation of each transition."""
    batch = replay.unpack(replay.words[: len(replay)])
    return np.concatenate([batch.prev_obs, batch.obs, batch.next_obs], 1).tolist()


def test_observation_before_is_that_of_the_same_env() -> None:
    replay = PrecededReplay(10, 1, ACTIONS)
    replay.add(rows([1, 10], [True, True]), np.array([0, 1]))
    replay.add(rows([2, 11], [False, False]), np.array([0, 1]))
    replay.add(rows([30], [False]), np.array([1]))  # env 0 holds its action
    replay.add(rows([3, 50], [False, True]), np.array([0, 1]))
    assert stored(replay) == [
        [1, 1, 2],  # a start
        [10, 10, 11],
        [1, 2, 3],
        [10, 11, 12],
        [11, 30, 31],
        [2, 3, 4],
        [50, 50, 51],
    ]


def test_state_is_restored_with_the_running_episodes() -> None:
    replay, copy = (PrecededReplay(3, 1, ACTIONS) for _ in range(2))
    replay.add(rows([1, 10], [True, True]))
    saved = {name: np.array(part) for name, part in replay.state().items()}
    copy.restore(saved, 2)
    for each in (replay, copy):
        each.add(rows([2, 11], [False, False]))
    assert stored(replay) == stored(copy)
    assert stored(copy)[0] == [10, 11, 12]  # the ring has begun again


@pytest.mark.parametrize("part", ["records", "last", "all"])
def test_damaged_state_is_refused(part: str) -> None:
    replay = PrecededReplay(3, 1, ACTIONS)
    replay.add(rows([1, 10], [True, True]))
    state = {**replay.state()}
    if part == "all":
        del state["last"]
    else:
        state[part] = np.zeros((2, 2))
    with pytest.raises(InputError, match="is damaged or has other observations"):
        PrecededReplay(3, 1, ACTIONS).restore(state, 2)
