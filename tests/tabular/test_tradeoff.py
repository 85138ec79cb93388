import numpy as np
import pytest
from scipy.spatial import ConvexHull

from policy_inertia.errors import InputError
from policy_inertia.tabular import MDP, best, garnet, mixed, smoother, tradeoff
from policy_inertia.tabular.examples import random_core
from policy_inertia.tabular.values import expected_return, switch_rate
from tests.support.tabular_cases import all_inertia, over_cases


def point(mdp, core, mu):
    pi = mixed(core, mu)
    return switch_rate(mdp, pi), expected_return(mdp, pi)


def test_the_curve_by_hand():
    # one state, rewards 0 and 1, a coin for a core, gamma 0.5: repeat always (one half of the
    # episodes earn 2, none switches), or repeat 1 alone (4/3, see the rule's test)
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    curve = tradeoff(mdp, [[0.5, 0.5]])
    assert curve.complete
    assert [(p.switch_rate, p.return_) for p in curve.vertices] == [
        (0, pytest.approx(1)),
        (pytest.approx(1 / 12), pytest.approx(4 / 3)),
    ]
    assert curve.best_return(1 / 24) == pytest.approx(7 / 6)
    assert curve.best_return(1) == pytest.approx(4 / 3)
    assert curve.least_rate(7 / 6) == pytest.approx(1 / 24)
    with pytest.raises(InputError, match="out of reach"):
        curve.least_rate(2)


@over_cases(15, states=2, actions=2)
def test_no_mu_of_a_grid_is_above_the_curve_and_its_vertices_are_among_them(case):
    curve = tradeoff(case.mdp, case.core)
    assert curve.complete
    for mu in all_inertia(*case.core.shape, (0, 1 / 3, 2 / 3, 1)):
        rate, found = point(case.mdp, case.core, mu)
        assert found <= curve.best_return(max(rate, 0)) + 1e-7
    corners = [point(case.mdp, case.core, mu) for mu in all_inertia(*case.core.shape, (0, 1))]
    for vertex in curve.vertices:
        assert min(np.hypot(vertex.switch_rate - x, vertex.return_ - y) for x, y in corners) < 1e-9


def test_all_corners_of_the_hull_are_found():
    """Brute force over every deterministic mu of three states and two actions."""
    mdp = garnet(5, states=3, actions=2)
    core = random_core(np.random.default_rng(5), mdp)
    corners = np.array([point(mdp, core, mu) for mu in all_inertia(3, 2, (0, 1))])
    hull = corners[ConvexHull(corners).vertices]
    top = hull[hull[:, 1].argmax()]
    start = corners[corners[:, 0] < 1e-12][0]
    chord = (top[1] - start[1]) / (top[0] - start[0])
    upper = [x for x in hull if start[0] <= x[0] <= top[0] and
             x[1] >= start[1] + chord * (x[0] - start[0]) - 1e-12]  # fmt: skip
    found = [(p.switch_rate, p.return_) for p in tradeoff(mdp, core).vertices]
    np.testing.assert_allclose(sorted(map(tuple, upper)), found, atol=1e-9)
    assert len(found) > 2


@over_cases(10, "any length", states=2, actions=2, gammas=(0.9, 1.0))
def test_with_a_horizon_no_stationary_mu_is_above_the_curve(case):
    mdp = MDP(case.mdp.P, case.mdp.R, case.mdp.gamma, 3, case.mdp.rho, case.mdp.ends)
    curve = tradeoff(mdp, case.core)
    for mu in all_inertia(*case.core.shape, (0, 0.5, 1)):
        rate, found = point(mdp, case.core, mu)
        assert found <= curve.best_return(max(rate, 0)) + 1e-7


@over_cases(15, gammas=(0.5, 0.9))
def test_the_rules_point_is_under_the_curve(case):
    found = smoother(case.mdp, case.core)
    curve = tradeoff(case.mdp, case.core)
    assert found.return_ <= curve.best_return(found.oscillation) + 1e-7


@over_cases(15, gammas=(0.5, 0.9))
def test_a_budget_is_met_on_the_curve(case):
    curve = tradeoff(case.mdp, case.core)
    budget = curve.vertices[-1].switch_rate * 0.6
    found = best(case.mdp, case.core, budget)
    assert found.switch_rate <= budget + 1e-7
    assert found.return_ == pytest.approx(curve.best_return(budget), abs=1e-5)


def test_a_curve_that_is_cut_short_says_so():
    mdp = garnet(0, states=8)
    core = random_core(np.random.default_rng(0), mdp)
    whole, some = tradeoff(mdp, core), tradeoff(mdp, core, most=4)
    assert whole.complete
    assert not some.complete
    assert len(some.vertices) <= 4 < len(whole.vertices)
    for p in some.vertices:
        assert p.return_ <= whole.best_return(p.switch_rate) + 1e-9


def test_a_negative_budget_is_refused():
    mdp = garnet(0)
    core = random_core(np.random.default_rng(0), mdp)
    with pytest.raises(InputError, match="must be at least 0"):
        best(mdp, core, -0.1)
    with pytest.raises(InputError, match="out of reach"):
        tradeoff(mdp, core).best_return(-0.1)
