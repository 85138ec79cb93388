import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.metrics import episodes as metrics
from policy_inertia.tabular import (
    MDP,
    alone,
    core_values,
    expected_return,
    mixed,
    mixed_values,
    oscillation_ratio,
    switch_rate,
    windy_line,
)
from policy_inertia.tabular.values import oscillation, repeats, switches, value
from tests.support.tabular_cases import augmented, over_cases, trajectories


def two_states(**more):
    """0 earns 1 and goes to 1 by action 1; 1 earns nothing and goes back by action 1."""
    P = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    return MDP(P, [[0, 1], [0, 0]], **{"gamma": 0.5, "rho": [1, 0], **more})


def test_values_by_hand():
    mdp = two_states()
    core = np.array([[0.0, 1.0], [0.0, 1.0]])  # round and round: 1 + 1/4 + 1/16 + ... = 4/3
    np.testing.assert_allclose(core_values(mdp, core), [[2 / 3, 4 / 3], [1 / 3, 2 / 3]])
    half = np.full((2, 2), 0.5)
    # V0 = (0.5 V0 + 1 + 0.5 V1) / 2 and V1 = (0.5 V1 + 0.5 V0) / 2 -> V0 = 3/4, V1 = 1/4
    v = value(half, core_values(mdp, half))
    np.testing.assert_allclose(v, [0.75, 0.25])
    # with entropy each state earns log 2 more, so 2 log 2 in all
    np.testing.assert_allclose(value(half, core_values(mdp, half, 1.0), 1.0), v + 2 * np.log(2))


def test_the_mixed_policy_by_hand():
    pi = mixed(np.array([[0.25, 0.75]]), np.array([[0.2, 1.0]]))
    np.testing.assert_allclose(pi, [[[0.4, 0.6], [0, 1], [0.25, 0.75]]])


def test_the_first_action_is_the_cores_and_no_switch():
    mdp = two_states(gamma=1.0, horizon=1)
    pi = mixed(np.array([[0.0, 1.0], [0.0, 1.0]]), np.ones((2, 2)))
    assert expected_return(mdp, pi) == 1
    assert oscillation_ratio(mdp, pi) == 0


def test_the_ratio_divides_by_each_episodes_own_steps():
    # action 1 ends the episode with probability 1/2; the core alternates 0, 1, 0, 1 by state
    P = np.array([[[0.0, 1], [0.0, 0.5]], [[1, 0], [0.5, 0]]])
    mdp = MDP(P, np.zeros((2, 2)), 1.0, 4, [1, 0], [[0, 0.5], [0, 0.5]])
    pi = alone(np.array([[1.0, 0], [0, 1.0]]))
    # half of the episodes: 0 1 (1 switch in 2 steps); the others 0 1 0 1 (3 in 4)
    assert oscillation_ratio(mdp, pi) == pytest.approx(0.5 * 1 / 2 + 0.5 * 3 / 4)
    assert switch_rate(mdp, pi) == pytest.approx((0.5 * 1 + 0.5 * 3) / 4)


def test_discounted_switches_by_hand():
    mdp = two_states()
    pi = alone(np.array([[0.0, 1.0], [1.0, 0.0]]))  # 1 0 0 0 ...: one switch, at time 1
    assert switch_rate(mdp, pi) == pytest.approx((1 - 0.5) * 0.5)


def check_augmented(mdp, pi):
    P, r, first = augmented(mdp)
    policy = pi.reshape(len(P), mdp.actions)
    for alpha in (0.0, 0.3):
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = -alpha * np.nansum(policy * np.log(policy), axis=1)
        v = np.zeros(len(P))
        for _ in range(400):  # value iteration, to 0.9**400
            v = (policy * (r + mdp.gamma * P @ v)).sum(1) + bonus
        q = r + mdp.gamma * P @ v
        np.testing.assert_allclose(mixed_values(mdp, pi, alpha).reshape(q.shape), q, atol=1e-9)
        assert expected_return(mdp, pi, alpha) == pytest.approx(first @ v, abs=1e-9)


@over_cases(100)
def test_mixed_values_are_those_of_the_augmented_mdp(case):
    check_augmented(case.mdp, mixed(case.core, case.mu))


@over_cases(30)
def test_any_policy_that_sees_the_previous_action_can_be_evaluated(case):
    shape = (case.mdp.states, case.mdp.actions + 1)
    check_augmented(case.mdp, np.random.default_rng(0).dirichlet(case.core[0] + 1, shape))


@over_cases(30)
def test_a_core_or_a_mu_of_ones_is_no_division_by_zero(case):
    sure = np.eye(case.mdp.actions)[case.core.argmax(1)]
    check_augmented(case.mdp, mixed(sure, case.mu))
    check_augmented(case.mdp, mixed(sure, np.ones_like(sure)))


@over_cases(60, "any length", states=3, actions=2, gammas=(0.9, 1.0))
def test_finite_horizons_agree_with_all_trajectories(case):
    mdp = case.mdp
    mdp = MDP(mdp.P, mdp.R, mdp.gamma, 4, mdp.rho, mdp.ends)
    pi = mixed(case.core, case.mu)
    chances, paths, returns = zip(*trajectories(mdp, pi), strict=True)
    assert sum(chances) == pytest.approx(1)
    assert expected_return(mdp, pi) == pytest.approx(np.dot(chances, returns))
    ratios = [metrics.oscillation_ratio([path]) for path in paths]
    assert oscillation_ratio(mdp, pi) == pytest.approx(np.dot(chances, ratios))
    counts = [metrics.switches(path) for path in paths]
    assert switch_rate(mdp, pi) == pytest.approx(np.dot(chances, counts) / 4)


@over_cases(60)
def test_without_inertia_the_mixed_policy_is_the_core(case):
    for alpha in (0.0, 0.3):
        q = core_values(case.mdp, case.core, alpha)
        pi = mixed_values(case.mdp, alone(case.core), alpha)
        np.testing.assert_allclose(pi, np.broadcast_to(q[:, None], pi.shape), atol=1e-10)


@over_cases(40, "one length")
def test_with_one_length_repeats_and_switches_fill_the_episode(case):
    pi = mixed(case.core, case.mu)
    assert oscillation_ratio(case.mdp, pi) == pytest.approx(switch_rate(case.mdp, pi))
    counted = sum(
        mixed_values(case.mdp, pi, reward=r, gamma=1.0)
        for r in (repeats(case.mdp.actions), switches(case.mdp.actions))
    )
    v = value(case.mdp.mixed(pi), counted)[0]
    np.testing.assert_allclose(v[:, -1], case.mdp.horizon - 1)


def test_long_roll_outs_agree():
    mdp = windy_line(horizon=40)
    rng = np.random.default_rng(0)
    core = rng.dirichlet(np.ones(3), mdp.states)
    pi = mixed(core, rng.random((mdp.states, 3)))
    n = 20_000
    s, b = np.full(n, mdp.states // 2), np.full(n, -1)
    total, changed = np.zeros(n), np.zeros(n)
    for t in range(40):
        a = (rng.random((n, 1)) > pi[s, b].cumsum(1)).sum(1)
        total += mdp.gamma**t * mdp.R[s, a]
        changed += (a != b) & (b >= 0)
        s = (rng.random((n, 1)) > mdp.P[s, a].cumsum(1)).sum(1)
        b = a
    for found, sample in (
        (expected_return(mdp, pi), total),
        (oscillation_ratio(mdp, pi), changed / 40),
    ):
        assert abs(sample.mean() - found) < 4 * sample.std() / np.sqrt(n)


def test_a_discounted_mdp_has_no_ratio():
    mdp = two_states()
    pi = alone(np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="has no horizon"):
        oscillation_ratio(mdp, pi)
    assert oscillation(mdp, pi) == switch_rate(mdp, pi)
