import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import MDP, Case, core_values, greedy, smoothing_rule
from policy_inertia.tabular.rules import CRITERIA, compare, return_gain
from policy_inertia.tabular.values import state_value
from tests.support.tabular_cases import over_cases, trajectories


def test_the_rule_by_hand() -> None:
    # One state, gamma 0.5, rewards 0 and 1, a uniform core: V = 1. Repeating action 1 gains
    # 1 - 1/2 in return and 1 - 1/2 in repeats; repeating action 0 loses return.
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    smoothed = smoothing_rule(mdp, [[0.5, 0.5]])
    np.testing.assert_array_equal(smoothed.mu, [[0, 1]])
    # After action 0 the policy stays uniform, after action 1 it stays at 1:
    # V(0) = (V(0)/2 + 1 + V(1)/2) / 2 with V(1) = 2, so V(0) = V(null) = 4/3.
    assert smoothed.return_ == pytest.approx(4 / 3)
    assert smoothed.core_return == pytest.approx(1)
    # a switch needs 0 before: x = P(0) at t = 1, 1/2, 1/4 ...: (1/2) sum (1/2)^t (1/2)^(t+1)
    assert smoothed.oscillation == pytest.approx(0.5 * sum(0.25**t / 2 for t in range(1, 60)))
    assert smoothed.core_oscillation == pytest.approx(0.25)
    assert smoothed.holds()
    assert smoothed.return_margin > 0 < smoothed.oscillation_margin


def test_the_weight_is_the_mu_where_the_rule_repeats() -> None:
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    np.testing.assert_array_equal(smoothing_rule(mdp, [[0.5, 0.5]], weight=0.1).mu, [[0, 0.1]])


@over_cases(100)
def test_discounted_the_rule_loses_neither_return_nor_smoothness(case: Case) -> None:
    for criterion in ("repeats", "switches"):
        assert smoothing_rule(case.mdp, case.core, criterion).holds()


@over_cases(80, "one length", gammas=(0.5, 1.0))
def test_with_one_length_the_rule_holds_and_three_criteria_agree(case: Case) -> None:
    smoothed = smoothing_rule(case.mdp, case.core)
    assert smoothed.holds()
    for criterion in ("switches", "ratio"):
        other = smoothing_rule(case.mdp, case.core, criterion)
        np.testing.assert_array_equal(smoothed.mu, other.mu)


@over_cases(80, "any length", gammas=(0.5, 1.0))
def test_weighing_by_length_holds_for_all_lengths(case: Case) -> None:
    assert smoothing_rule(case.mdp, case.core, "ratio").holds()


@over_cases(25, "any length", states=2, actions=2, gammas=(1.0,))
def test_the_ratio_gain_agrees_with_all_trajectories(case: Case) -> None:
    """Compare all trajectories from (t, s, a_prev) on, with and without one repetition."""
    mdp = MDP(case.mdp.P, case.mdp.R, 1.0, 3, case.mdp.rho, case.mdp.ends)
    gain = CRITERIA["ratio"](mdp, mdp.check_core(case.core))
    t, s, a_prev = 1, 0, 1  # one action so far, so no switch: c = 0
    rest = MDP(mdp.P, mdp.R, 1.0, 2, [1.0, *[0.0] * (mdp.states - 1)], mdp.ends)

    def expected_ratio(first: np.ndarray) -> float:
        pi = np.array(rest.check_mixed(np.repeat(case.core[:, None], mdp.actions + 1, 1)))
        pi[0] = first
        ratio = 0.0
        for p, path, _ in trajectories(rest, pi):
            actions = [a_prev, *path]
            ratio += p * np.count_nonzero(np.diff(actions)) / len(actions)
        return ratio

    difference = expected_ratio(case.core[s]) - expected_ratio(np.eye(2)[a_prev])
    assert gain[t, s, a_prev] == pytest.approx(difference)


@over_cases(50)
def test_around_an_optimal_core_the_rule_gains_nothing(case: Case) -> None:
    core = case.core
    for _ in range(50):
        core = greedy().core(core_values(case.mdp, core))
    assert return_gain(case.mdp, core).max() <= 1e-9
    smoothed = smoothing_rule(case.mdp, core)
    assert smoothed.return_ == pytest.approx(smoothed.core_return)
    assert not smoothed.mu.any() or return_gain(case.mdp, core)[smoothed.mu > 0].max() < 1e-9


@over_cases(50)
def test_mu_zero_meets_theorem_31_with_equality(case: Case) -> None:
    smoothed = compare(case.mdp, case.core, np.zeros_like(case.core))
    assert smoothed.return_margin == pytest.approx(0, abs=1e-9)
    assert smoothed.oscillation_margin == 0


def test_the_return_gain_is_the_advantage() -> None:
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    core = np.array([[0.5, 0.5]])
    q = core_values(mdp, core)
    expected = q - state_value(core, q)[:, None]
    np.testing.assert_allclose(return_gain(mdp, mdp.check_core(core)), expected)
    np.testing.assert_allclose(expected, [[-0.5, 0.5]])


def test_an_unknown_criterion_is_refused() -> None:
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    with pytest.raises(InputError, match="did you mean 'repeats'"):
        smoothing_rule(mdp, [[0.5, 0.5]], "repeat")
    with pytest.raises(InputError, match="has no horizon"):
        smoothing_rule(mdp, [[0.5, 0.5]], "ratio")
