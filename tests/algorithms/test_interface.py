"""How an algorithm acts while it learns."""

import numpy as np
import pytest

from policy_inertia.actions.discrete import Categorical, Discrete
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.interface import Behaviour, hold_lengths
from policy_inertia.envs.spec import Spec
from policy_inertia.types import Tree

ENVS, STEPS = 2_000, 40


def always_first(
    params: Tree, obs: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray
) -> Categorical:
    log_pi = np.full((len(obs), 9), -np.inf)
    log_pi[:, 0] = 0
    return Categorical(log_pi)


def actions_of(epsilon: float, longest_hold: int) -> np.ndarray:
    """(STEPS, ENVS) actions of a policy that always chooses action 0 of nine."""
    behaviour = Behaviour(
        always_first, Discrete(9), epsilon=lambda _: epsilon, longest_hold=longest_hold
    )
    rng, prev = np.random.default_rng(0), np.full(ENVS, -1)
    held, actions = np.zeros(ENVS, np.int64), []
    for _ in range(STEPS):
        prev = behaviour.act([], np.zeros((ENVS, 1)), prev, np.zeros(ENVS), 0, rng, held)
        assert held.min() >= 0
        assert held.max() < longest_hold
        actions.append(prev)
    return np.array(actions)


@pytest.mark.parametrize("longest", [1, 20])
def test_epsilon_is_the_share_of_random_steps_however_long_they_are_held(longest: int) -> None:
    late = actions_of(0.3, longest)[STEPS // 2 :]  # no hold is under way at the very start
    assert (late != 0).mean() == pytest.approx(0.3 * 8 / 9, abs=0.01)


def test_a_random_action_is_held_to_its_end() -> None:
    actions = actions_of(0.3, 20)
    same = (actions[1:] == actions[:-1]) & (actions[:-1] != 0)
    again = same.sum() / (actions[:-1] != 0).sum()
    plain = actions_of(0.3, 1)
    at_random = ((plain[1:] == plain[:-1]) & (plain[:-1] != 0)).sum() / (plain[:-1] != 0).sum()
    assert at_random == pytest.approx(0.3 / 9, abs=0.01)
    # of a random step, 1 - 1 / E[n] is followed by another step of the same hold
    assert again == pytest.approx(1 - 1 / hold_lengths(20).mean, abs=0.05)


def test_the_lengths_of_holds_are_those_of_the_paper() -> None:
    lengths = hold_lengths(3)
    weights = np.array([1, 1 / 4, 1 / 9])
    np.testing.assert_allclose(lengths.shares, weights / weights.sum())
    assert lengths.mean == pytest.approx((1 + 2 / 4 + 3 / 9) / weights.sum())
    drawn = lengths.sample(np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(np.bincount(drawn)[1:] / 20_000, lengths.shares, atol=0.01)


def test_dqn_explores_as_its_settings_say() -> None:
    spec = Spec(2, Discrete(4))
    assert DQNConfig().build(spec).behaviour.longest_hold == 1
    assert DQNConfig(longest_hold=50).build(spec).behaviour.longest_hold == 50
