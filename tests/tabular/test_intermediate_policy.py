import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import (
    MDP,
    Case,
    greedy,
    intermediate_improvement,
    mixed_policy,
    soft,
)
from policy_inertia.tabular.intermediate_policy import intermediate_policy
from policy_inertia.tabular.margins import improved_core, improvement_at_bound
from tests.support.tabular_cases import over_cases


def test_the_two_sides_of_the_lemma_by_hand() -> None:
    # One state, rewards 0 and 1, gamma 0.5; the core changes from action 0 to action 1.
    # Q_old = (0, 1), Q_new = (1, 2): the improvement is 1. With mu = 0.1, the old mixed policy
    # earns 0 after action 0. After action 1 it repeats with 0.1: V(1) = 0.1 (1 + V(1) / 2) = 2/19.
    # The new one earns 2 after action 1; V(0) = 0.1 V(0) / 2 + 0.9 * 2, so V(0) = 36 / 19.
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    result = intermediate_improvement(mdp, [[1, 0]], [[0, 1]], np.full((1, 2), 0.1))
    assert result.improvement == pytest.approx(1)
    # Q_mid - Q_old = (V_mid - V_old) / 2 after either action
    assert result.actual == pytest.approx(min(36 / 19 - 0, 2 - 2 / 19) / 2)
    # |A_new| <= 1, A_old <= Q_old(1) - V_old(0) = 1 + (2 / 19) / 2; the t gamma^t sum to 2
    assert result.bound == pytest.approx(1 / (4 * (1 + 1 / 19) * 2))
    assert result.within
    assert result.guaranteed == 0
    # our guarantee: D = 1, U = 1, and gamma^t from t = 1 on sums to 1
    assert result.sharper == pytest.approx(1 - 0.1 * 2)
    assert result.sharper_bound == pytest.approx(0.5)


def test_with_a_horizon_the_discount_sum_stops_there() -> None:
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5, horizon=4)
    assert mdp.discount_sum(1) == pytest.approx(1 * 0.5 + 2 * 0.25 + 3 * 0.125)
    assert mdp.discount_sum() == pytest.approx(0.5 + 0.25 + 0.125)


@over_cases(80)
def test_the_lemma_holds_without_entropy(case: Case) -> None:
    for n in (4.0, 10.0):
        result = improvement_at_bound(case, greedy(), n)
        if result.within:
            assert result.actual >= result.guaranteed - 1e-9


@over_cases(120)
def test_our_guarantee_holds_for_any_mu_with_and_without_entropy(case: Case) -> None:
    for half in (greedy(), soft(0.1), soft(1.0)):
        new_core = improved_core(case, half)
        for scale in (1.0, 0.1, 0.001):
            result = intermediate_improvement(
                case.mdp, case.core, new_core, case.mu * scale, half.temperature
            )
            assert result.actual >= result.sharper - 1e-9


@over_cases(80)
def test_our_bound_allows_more(case: Case) -> None:
    new_core = improved_core(case, greedy())
    result = intermediate_improvement(case.mdp, case.core, new_core, case.mu)
    assert result.sharper_bound >= result.bound - 1e-12


@over_cases(40, "any length")
def test_with_a_horizon_the_lemma_is_empty(case: Case) -> None:
    """At the last step every core is worth r(s, a), so no core improves everywhere."""
    new_core = improved_core(case, greedy())
    result = intermediate_improvement(case.mdp, case.core, new_core, case.mu)
    assert result.improvement <= 1e-12
    if case.mdp.R.any() and case.mdp.gamma:
        assert result.bound <= 1e-9


def test_the_lemma_is_empty_where_an_action_surely_ends_the_episode() -> None:
    P = np.array([[[1.0], [0.0]]])
    mdp = MDP(P, [[1, 0]], 0.5, ends=[[0, 1]])
    assert intermediate_improvement(mdp, [[0, 1]], [[1, 0]], np.zeros((1, 2))).bound == 0


@over_cases(20)
def test_the_papers_intermediate_policy_does_not_sum_to_1(case: Case) -> None:
    """As printed it lacks the factor 1 - mu before the new core, so it sums to 1 + mu."""
    printed = case.mu[..., None] * np.eye(case.core.shape[1]) + case.core[:, None]
    np.testing.assert_allclose(printed.sum(-1), 1 + case.mu)
    ours = intermediate_policy(case.core, case.mu)
    np.testing.assert_allclose(ours.sum(-1), 1)
    np.testing.assert_array_equal(ours, mixed_policy(case.core, case.mu))


def test_n_below_four_is_refused() -> None:
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    with pytest.raises(InputError, match="at least 4"):
        intermediate_improvement(mdp, [[1, 0]], [[0, 1]], np.zeros((1, 2)), n=3)
