import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.actions.discrete import Discrete
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import PREVIOUS_ACTION, REMAINING, Hold, memory_of
from tests.support.pair_actions import Pairs

HOLDS = memory_of(Discrete(3), (Hold((1, 4), Discrete(3)),))


def test_every_filter_adds_its_own_fields_to_the_previous_action() -> None:
    assert list(memory_of(Discrete(3), ()).initial(2)) == [PREVIOUS_ACTION]
    assert list(memory_of(Discrete(3), (Hysteresis(0.5),)).initial(2)) == [PREVIOUS_ACTION]
    assert list(HOLDS.initial(2)) == [PREVIOUS_ACTION, REMAINING]


def test_episode_starts_without_a_previous_action() -> None:
    state = HOLDS.initial(2)
    assert state[PREVIOUS_ACTION].tolist() == [-1, -1]
    assert state[REMAINING].tolist() == [0, 0]
    assert memory_of(Pairs(3), ()).initial(2)[PREVIOUS_ACTION].tolist() == [[-1, -1]] * 2


def test_only_the_envs_that_start_an_episode_forget() -> None:
    state = {PREVIOUS_ACTION: np.array([1, 2]), REMAINING: np.array([3, 0])}
    after = HOLDS.at(state, 2, [True, False])
    assert after[PREVIOUS_ACTION].tolist() == [-1, 2]
    assert after[REMAINING].tolist() == [0, 0]
    pairs = memory_of(Pairs(3), ()).reset({PREVIOUS_ACTION: np.ones((2, 2))}, np.array([0, 1]) > 0)
    assert pairs[PREVIOUS_ACTION].tolist() == [[1, 1], [-1, -1]]


def test_held_action_is_repeated_until_its_time_is_over() -> None:
    hold, state, actions = Hold((1, 4), Discrete(3)), HOLDS.initial(1), []
    for choice in (3, 0, 0, 0, 4):  # action 1 for 4 steps, then action 2 for one
        action, fields = hold.step(np.array([choice]), np.zeros((1, 6)), state)
        actions.append(int(action[0]))
        state = {PREVIOUS_ACTION: action, **fields}
    assert actions == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("state", [(np.array([1]),), {"other": np.array([1])}, 3])
def test_state_that_is_not_a_policys_own_is_refused(state: object) -> None:
    with pytest.raises(InputError, match="pass the state that predict returned, with previous"):
        HOLDS.at(state, 1)  # type: ignore[arg-type]


def test_state_of_another_number_of_envs_is_refused() -> None:
    with pytest.raises(InputError, match="rows for 3 envs and there are 2 observations"):
        HOLDS.at(HOLDS.initial(3), 2)
