import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import MDP, greedy, intermediate, mixed, soft
from policy_inertia.tabular.checks import at_bound, improved
from policy_inertia.tabular.intermediate import mid_policy
from tests.support.tabular_cases import over_cases


def test_both_sides_by_hand():
    # One state, rewards 0 and 1, gamma 0.5; from the core that takes 0 to the one that takes 1.
    # Q_old = (0, 1), Q_new = (1, 2): the improvement is 1. With mu = 0.1 the old mixed policy
    # earns 0 after action 0; after 1 it repeats with 0.1: V(1) = 0.1 (1 + V(1) / 2) = 2 / 19.
    # The new one earns 2 after 1; V(0) = 0.1 V(0) / 2 + 0.9 * 2, so V(0) = 36 / 19.
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    found = intermediate(mdp, [[1, 0]], [[0, 1]], np.full((1, 2), 0.1))
    assert found.improvement == pytest.approx(1)
    # Q_mid - Q_old = (V_mid - V_old) / 2 after either action
    assert found.actual == pytest.approx(min(36 / 19 - 0, 2 - 2 / 19) / 2)
    # |A_new| <= 1, A_old <= Q_old(1) - V_old(0) = 1 + (2 / 19) / 2; the t gamma^t sum to 2
    assert found.bound == pytest.approx(1 / (4 * (1 + 1 / 19) * 2))
    assert found.within
    assert found.guaranteed == 0
    # ours: D = 1, U = 1, and gamma^t from t = 1 on sums to 1
    assert found.sharper == pytest.approx(1 - 0.1 * 2)
    assert found.sharper_bound == pytest.approx(0.5)


def test_with_a_horizon_the_sum_stops_there():
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5, horizon=4)
    assert mdp.later(1) == pytest.approx(1 * 0.5 + 2 * 0.25 + 3 * 0.125)
    assert mdp.later() == pytest.approx(0.5 + 0.25 + 0.125)


@over_cases(80)
def test_the_lemma_holds_for_the_plain_objective(case):
    for n in (4.0, 10.0):
        found = at_bound(case, greedy(), n)
        if found.within:
            assert found.actual >= found.guaranteed - 1e-9


@over_cases(120)
def test_our_promise_holds_for_any_mu_and_both_objectives(case):
    for half in (greedy(), soft(0.1), soft(1.0)):
        new = improved(case, half)
        for scale in (1.0, 0.1, 0.001):
            found = intermediate(case.mdp, case.core, new, case.mu * scale, half.temperature)
            assert found.actual >= found.sharper - 1e-9


@over_cases(80)
def test_our_bound_allows_more(case):
    new = improved(case, greedy())
    found = intermediate(case.mdp, case.core, new, case.mu)
    assert found.sharper_bound >= found.bound - 1e-12


@over_cases(40, "any length")
def test_with_a_horizon_the_lemma_is_empty(case):
    """At the last step all cores are worth r(s, a), so that nothing improves everywhere."""
    new = improved(case, greedy())
    found = intermediate(case.mdp, case.core, new, case.mu)
    assert found.improvement <= 1e-12
    if case.mdp.R.any() and case.mdp.gamma:
        assert found.bound <= 1e-9


def test_an_action_that_surely_ends_the_episode_empties_it_too():
    P = np.array([[[1.0], [0.0]]])
    mdp = MDP(P, [[1, 0]], 0.5, ends=[[0, 1]])
    assert intermediate(mdp, [[0, 1]], [[1, 0]], np.zeros((1, 2))).bound == 0


@over_cases(20)
def test_the_papers_mid_policy_is_no_policy(case):
    """It lacks 1 - mu before the new core, and so sums to 1 + mu."""
    printed = case.mu[..., None] * np.eye(case.core.shape[1]) + case.core[:, None]
    np.testing.assert_allclose(printed.sum(-1), 1 + case.mu)
    np.testing.assert_allclose(mid_policy(case.core, case.mu).sum(-1), 1)
    np.testing.assert_array_equal(mid_policy(case.core, case.mu), mixed(case.core, case.mu))


def test_n_below_four_is_refused():
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    with pytest.raises(InputError, match="at least 4"):
        intermediate(mdp, [[1, 0]], [[0, 1]], np.zeros((1, 2)), n=3)
