"""How an algorithm acts while it learns."""

import numpy as np
import pytest

from policy_inertia.actions.discrete import NULL, Categorical, Discrete
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.interface import Behaviour
from policy_inertia.envs.spec import Spec
from policy_inertia.types import Tree

ENVS = 20_000


def always_first(
    params: Tree, obs: np.ndarray, prev_action: np.ndarray, drawn: np.ndarray
) -> Categorical:
    log_pi = np.full((len(obs), 4), -np.inf)
    log_pi[:, 0] = 0
    return Categorical(log_pi)


def actions_after(prev_action: int, random_repeats: float, epsilon: float = 1.0) -> np.ndarray:
    behaviour = Behaviour(
        always_first, Discrete(4), epsilon=lambda updates: epsilon, random_repeats=random_repeats
    )
    prev = np.full(ENVS, prev_action)
    return behaviour.act([], np.zeros((ENVS, 1)), prev, prev, 0, np.random.default_rng(0))


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_share_of_the_random_actions_repeats_the_previous_one(share: float) -> None:
    counts = np.bincount(actions_after(2, share), minlength=4) / ENVS
    other = (1 - share) / 4
    np.testing.assert_allclose(counts, [other, other, other + share, other], atol=0.012)


def test_the_policys_own_actions_are_not_repeated() -> None:
    counts = np.bincount(actions_after(2, 1.0, epsilon=0.25), minlength=4) / ENVS
    np.testing.assert_allclose(counts, [0.75, 0, 0.25, 0], atol=0.012)


def test_an_episodes_first_random_action_is_uniform() -> None:
    counts = np.bincount(actions_after(NULL, 1.0), minlength=4) / ENVS
    np.testing.assert_allclose(counts, 0.25, atol=0.012)


def test_dqn_explores_as_its_settings_say() -> None:
    spec = Spec(2, Discrete(4))
    assert DQNConfig().build(spec).behaviour.random_repeats == 0
    assert DQNConfig(random_repeats=0.5).build(spec).behaviour.random_repeats == 0.5
