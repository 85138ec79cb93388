from typing import Any

import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.metrics import episodes as metrics
from policy_inertia.tabular import (
    MDP,
    Case,
    core_as_mixed,
    core_values,
    expected_return,
    mixed_policy,
    mixed_values,
    oscillation_ratio,
    switch_rate,
    windy_line,
)
from policy_inertia.tabular.values import (
    count_values,
    oscillation,
    repeat_indicator,
    state_value,
    switch_indicator,
)
from tests.support.tabular_cases import augmented, over_cases, trajectories


def two_states(**settings: Any) -> MDP:
    """Action 0 stays; action 1 goes to the other state, and earns 1 in state 0."""
    P = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    return MDP(P, [[0, 1], [0, 0]], **{"gamma": 0.5, "rho": [1, 0], **settings})


def test_values_by_hand() -> None:
    mdp = two_states()
    core = np.array([[0.0, 1.0], [0.0, 1.0]])  # back and forth: 1 + 1/4 + 1/16 + ... = 4/3
    np.testing.assert_allclose(core_values(mdp, core), [[2 / 3, 4 / 3], [1 / 3, 2 / 3]])
    half = np.full((2, 2), 0.5)
    # V0 = (0.5 V0 + 1 + 0.5 V1) / 2 and V1 = (0.5 V1 + 0.5 V0) / 2 -> V0 = 3/4, V1 = 1/4
    v = state_value(half, core_values(mdp, half))
    np.testing.assert_allclose(v, [0.75, 0.25])
    # with entropy each state earns log 2 more, so 2 log 2 in all
    np.testing.assert_allclose(
        state_value(half, core_values(mdp, half, 1.0), 1.0), v + 2 * np.log(2)
    )


def test_the_mixed_policy_by_hand() -> None:
    pi = mixed_policy(np.array([[0.25, 0.75]]), np.array([[0.2, 1.0]]))
    np.testing.assert_allclose(pi, [[[0.4, 0.6], [0.0, 1.0], [0.25, 0.75]]])


def test_the_first_action_is_the_cores_and_no_switch() -> None:
    mdp = two_states(gamma=1.0, horizon=1)
    pi = mixed_policy(np.array([[0.0, 1.0], [0.0, 1.0]]), np.ones((2, 2)))
    assert expected_return(mdp, pi) == 1
    assert oscillation_ratio(mdp, pi) == 0


def test_the_ratio_divides_by_each_episodes_own_steps() -> None:
    # action 1 ends the episode with probability 1/2; the core alternates 0, 1, 0, 1 by state
    P = np.array([[[0.0, 1], [0.0, 0.5]], [[1, 0], [0.5, 0]]])
    mdp = MDP(P, np.zeros((2, 2)), 1.0, 4, [1, 0], [[0, 0.5], [0, 0.5]])
    pi = core_as_mixed(np.array([[1.0, 0], [0, 1.0]]))
    # half of the episodes: 0 1 (1 switch in 2 steps); the others 0 1 0 1 (3 in 4)
    assert oscillation_ratio(mdp, pi) == pytest.approx(0.5 * 1 / 2 + 0.5 * 3 / 4)
    assert switch_rate(mdp, pi) == pytest.approx((0.5 * 1 + 0.5 * 3) / 4)


def test_discounted_switches_by_hand() -> None:
    mdp = two_states()
    pi = core_as_mixed(np.array([[0.0, 1.0], [1.0, 0.0]]))  # 1 0 0 0 ...: one switch, at time 1
    assert switch_rate(mdp, pi) == pytest.approx((1 - 0.5) * 0.5)


def check_augmented(mdp: MDP, pi: np.ndarray) -> None:
    """Compare with value iteration on the augmented MDP."""
    P, R, rho = augmented(mdp)
    policy = pi.reshape(len(P), mdp.actions)
    for alpha in (0.0, 0.3):
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = -alpha * np.nansum(policy * np.log(policy), axis=1)
        v = np.zeros(len(P))
        for _ in range(400):  # 0.9**400 is far below the tolerance
            v = (policy * (R + mdp.gamma * P @ v)).sum(1) + bonus
        q = R + mdp.gamma * P @ v
        np.testing.assert_allclose(mixed_values(mdp, pi, alpha).reshape(q.shape), q, atol=1e-9)
        assert expected_return(mdp, pi, alpha) == pytest.approx(rho @ v, abs=1e-9)


@over_cases(100)
def test_mixed_values_agree_with_the_augmented_mdp(case: Case) -> None:
    check_augmented(case.mdp, mixed_policy(case.core, case.mu))


@over_cases(30)
def test_any_policy_that_sees_the_previous_action_can_be_evaluated(case: Case) -> None:
    shape = (case.mdp.states, case.mdp.actions + 1)
    check_augmented(case.mdp, np.random.default_rng(0).dirichlet(case.core[0] + 1, shape))


@over_cases(30)
def test_a_deterministic_core_or_mu_does_not_divide_by_zero(case: Case) -> None:
    certain = np.eye(case.mdp.actions)[case.core.argmax(1)]
    check_augmented(case.mdp, mixed_policy(certain, case.mu))
    check_augmented(case.mdp, mixed_policy(certain, np.ones_like(certain)))


@over_cases(60, "any length", states=3, actions=2, gammas=(0.9, 1.0))
def test_finite_horizons_agree_with_all_trajectories(case: Case) -> None:
    mdp = case.mdp
    mdp = MDP(mdp.P, mdp.R, mdp.gamma, 4, mdp.rho, mdp.ends)
    pi = mixed_policy(case.core, case.mu)
    probabilities, paths, returns = zip(*trajectories(mdp, pi), strict=True)
    assert sum(probabilities) == pytest.approx(1)
    assert expected_return(mdp, pi) == pytest.approx(np.dot(probabilities, returns))
    ratios = [metrics.oscillation_ratio([path]) for path in paths]
    assert oscillation_ratio(mdp, pi) == pytest.approx(np.dot(probabilities, ratios))
    switches = [metrics.switches(path) for path in paths]
    assert switch_rate(mdp, pi) == pytest.approx(np.dot(probabilities, switches) / 4)


@over_cases(60)
def test_without_inertia_the_mixed_policy_is_the_core(case: Case) -> None:
    for alpha in (0.0, 0.3):
        q = core_values(case.mdp, case.core, alpha)
        q_mixed = mixed_values(case.mdp, core_as_mixed(case.core), alpha)
        expected = np.broadcast_to(q[:, None], q_mixed.shape)
        np.testing.assert_allclose(q_mixed, expected, atol=1e-10)


@over_cases(40, "one length")
def test_with_one_length_repeats_and_switches_fill_the_episode(case: Case) -> None:
    pi = mixed_policy(case.core, case.mu)
    assert oscillation_ratio(case.mdp, pi) == pytest.approx(switch_rate(case.mdp, pi))
    actions = case.mdp.actions
    q = count_values(case.mdp, pi, repeat_indicator(actions) + switch_indicator(actions))
    v = state_value(case.mdp.check_mixed(pi), q)[0]
    assert case.mdp.horizon
    np.testing.assert_allclose(v[:, -1], case.mdp.horizon - 1)


def test_20_000_sampled_episodes_agree() -> None:
    mdp = windy_line(horizon=40)
    rng = np.random.default_rng(0)
    core = rng.dirichlet(np.ones(3), mdp.states)
    pi = mixed_policy(core, rng.random((mdp.states, 3)))
    n = 20_000
    s, a_prev = np.full(n, mdp.states // 2), np.full(n, -1)
    returns, switches = np.zeros(n), np.zeros(n)
    for t in range(40):
        a = (rng.random((n, 1)) > pi[s, a_prev].cumsum(1)).sum(1)
        returns += mdp.gamma**t * mdp.R[s, a]
        switches += (a != a_prev) & (a_prev >= 0)
        s = (rng.random((n, 1)) > mdp.P[s, a].cumsum(1)).sum(1)
        a_prev = a
    for exact, sample in (
        (expected_return(mdp, pi), returns),
        (oscillation_ratio(mdp, pi), switches / 40),
    ):
        assert abs(sample.mean() - exact) < 4 * sample.std() / np.sqrt(n)


def test_a_discounted_mdp_has_a_switch_rate_but_no_ratio() -> None:
    mdp = two_states()
    pi = core_as_mixed(np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="has no horizon"):
        oscillation_ratio(mdp, pi)
    assert oscillation(mdp, pi) == switch_rate(mdp, pi)
