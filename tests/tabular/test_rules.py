import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import MDP, core_values, greedy, smoother
from policy_inertia.tabular.rules import MEASURES, compare, return_gain
from policy_inertia.tabular.values import value
from tests.support.tabular_cases import over_cases, trajectories


def test_the_rule_by_hand():
    # one state, gamma 0.5, rewards 0 and 1, the core tosses a coin: V = 1. Repeating action 1
    # gains 1 - 1/2 in return and 1 - 1/2 in repeats; repeating 0 loses return.
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    found = smoother(mdp, [[0.5, 0.5]])
    np.testing.assert_array_equal(found.mu, [[0, 1]])
    # from the coin's first action on: 0 stays a coin, 1 stays 1: V(0) = (V(0)/2 + 1 + V(1)/2) / 2
    # with V(1) = 2, so V(0) = V(null) = 4/3
    assert found.return_ == pytest.approx(4 / 3)
    assert found.core_return == pytest.approx(1)
    # a switch needs 0 before: x = P(0) at t = 1, 1/2, 1/4 ...: (1/2) sum (1/2)^t (1/2)^(t+1)
    assert found.oscillation == pytest.approx(0.5 * sum(0.25**t / 2 for t in range(1, 60)))
    assert found.core_oscillation == pytest.approx(0.25)
    assert found.holds()
    assert found.return_margin > 0 < found.oscillation_margin


def test_a_small_weight_is_a_small_mu():
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    np.testing.assert_array_equal(smoother(mdp, [[0.5, 0.5]], weight=0.1).mu, [[0, 0.1]])


@over_cases(100)
def test_discounted_the_rule_is_no_worse_and_no_less_smooth(case):
    for measure in ("repeats", "switches"):
        assert smoother(case.mdp, case.core, measure).holds()


@over_cases(80, "one length", gammas=(0.5, 1.0))
def test_with_one_length_the_rule_keeps_both_promises(case):
    found = smoother(case.mdp, case.core)
    assert found.holds()
    np.testing.assert_array_equal(found.mu, smoother(case.mdp, case.core, "switches").mu)
    np.testing.assert_array_equal(found.mu, smoother(case.mdp, case.core, "ratio").mu)


@over_cases(80, "any length", gammas=(0.5, 1.0))
def test_weighing_by_length_keeps_both_promises_for_all_lengths(case):
    assert smoother(case.mdp, case.core, "ratio").holds()


@over_cases(25, "any length", states=2, actions=2, gammas=(1.0,))
def test_the_ratios_gain_is_the_worst_over_earlier_switches(case):
    """Against all trajectories from (t, s, a_prev, c) on, with and without one repetition."""
    mdp = MDP(case.mdp.P, case.mdp.R, 1.0, 3, case.mdp.rho, case.mdp.ends)
    gain = MEASURES["ratio"](mdp, mdp.core(case.core))
    t, s, b = 1, 0, 1  # one action so far, so no switch: c = 0
    rest = MDP(mdp.P, mdp.R, 1.0, 2, [1.0, *[0.0] * (mdp.states - 1)], mdp.ends)

    def expected(first):
        pi = np.array(rest.mixed(np.repeat(case.core[:, None], mdp.actions + 1, 1)))
        pi[0] = first
        ends = []
        for p, path, _ in trajectories(rest, pi):
            actions = [b, *path]
            ends.append(p * np.count_nonzero(np.diff(actions)) / len(actions))
        return sum(ends)

    assert gain[t, s, b] == pytest.approx(expected(case.core[s]) - expected(np.eye(2)[b]))


@over_cases(50)
def test_around_an_optimal_core_the_rule_finds_nothing(case):
    core = case.core
    for _ in range(50):
        core = greedy().core(core_values(case.mdp, core))
    assert return_gain(case.mdp, core).max() <= 1e-9
    found = smoother(case.mdp, core)
    assert found.return_ == pytest.approx(found.core_return)
    assert not found.mu.any() or return_gain(case.mdp, core)[found.mu > 0].max() < 1e-9


@over_cases(50)
def test_mu_zero_is_always_an_equality(case):
    """Theorem 3.1 as stated is true for nothing: mu = 0 meets it."""
    found = compare(case.mdp, case.core, np.zeros_like(case.core))
    assert found.return_margin == pytest.approx(0, abs=1e-9)
    assert found.oscillation_margin == 0


def test_the_gain_is_the_advantage():
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    q = core_values(mdp, np.array([[0.5, 0.5]]))
    expected = q - value(np.array([[0.5, 0.5]]), q)[:, None]
    np.testing.assert_allclose(return_gain(mdp, mdp.core([[0.5, 0.5]])), expected)
    np.testing.assert_allclose(expected, [[-0.5, 0.5]])


def test_an_unknown_measure_is_refused():
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    with pytest.raises(InputError, match="did you mean 'repeats'"):
        smoother(mdp, [[0.5, 0.5]], "repeat")
    with pytest.raises(InputError, match="has no horizon"):
        smoother(mdp, [[0.5, 0.5]], "ratio")
