import numpy as np
import pytest
from scipy.spatial import ConvexHull

from policy_inertia.errors import InputError
from policy_inertia.tabular import (
    MDP,
    Case,
    best_mu,
    expected_return,
    garnet,
    mixed_policy,
    smoothing_rule,
    switch_rate,
    tradeoff,
)
from policy_inertia.tabular.examples import random_core
from tests.support.tabular_cases import all_inertia, over_cases


def performance(mdp: MDP, core: np.ndarray, mu: np.ndarray) -> tuple[float, float]:
    """Switch rate and return."""
    pi = mixed_policy(core, mu)
    return switch_rate(mdp, pi), expected_return(mdp, pi)


def test_the_curve_by_hand() -> None:
    # One state, rewards 0 and 1, a uniform core, gamma 0.5. Either repeat always (half of the
    # episodes earn 2, none switches), or repeat action 1 only (4/3, see the test of the rule).
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    curve = tradeoff(mdp, [[0.5, 0.5]])
    assert curve.complete
    assert [p.switch_rate for p in curve.vertices] == pytest.approx([0, 1 / 12])
    assert [p.return_ for p in curve.vertices] == pytest.approx([1, 4 / 3])
    assert curve.best_return(1 / 24) == pytest.approx(7 / 6)
    assert curve.best_return(1) == pytest.approx(4 / 3)
    assert curve.least_rate(7 / 6) == pytest.approx(1 / 24)
    with pytest.raises(InputError, match=r"no point has a return of 2: give at most 1\.33"):
        curve.least_rate(2)


@over_cases(15, states=2, actions=2)
def test_no_mu_of_a_grid_is_above_the_curve_and_its_vertices_are_deterministic(case: Case) -> None:
    curve = tradeoff(case.mdp, case.core)
    assert curve.complete
    for mu in all_inertia(case.core.shape, (0, 1 / 3, 2 / 3, 1)):
        rate, return_ = performance(case.mdp, case.core, mu)
        assert return_ <= curve.best_return(max(rate, 0)) + 1e-7
    corners = [performance(case.mdp, case.core, mu) for mu in all_inertia(case.core.shape, (0, 1))]
    for vertex in curve.vertices:
        assert min(np.hypot(vertex.switch_rate - x, vertex.return_ - y) for x, y in corners) < 1e-9


def test_the_curve_is_the_upper_hull_of_all_deterministic_mu() -> None:
    """Compare with brute force over three states and two actions."""
    mdp = garnet(5, states=3, actions=2)
    core = random_core(np.random.default_rng(5), mdp)
    corners = np.array([performance(mdp, core, mu) for mu in all_inertia((3, 2), (0, 1))])
    hull = corners[ConvexHull(corners).vertices]
    top = hull[hull[:, 1].argmax()]
    start = corners[corners[:, 0] < 1e-12][0]
    chord = (top[1] - start[1]) / (top[0] - start[0])
    upper = [x for x in hull if start[0] <= x[0] <= top[0] and
             x[1] >= start[1] + chord * (x[0] - start[0]) - 1e-12]  # fmt: skip
    vertices = [(p.switch_rate, p.return_) for p in tradeoff(mdp, core).vertices]
    np.testing.assert_allclose(sorted(map(tuple, upper)), vertices, atol=1e-9)
    assert len(vertices) > 2


@over_cases(10, "any length", states=2, actions=2, gammas=(0.9, 1.0))
def test_with_a_horizon_no_stationary_mu_is_above_the_curve(case: Case) -> None:
    mdp = MDP(case.mdp.P, case.mdp.R, case.mdp.gamma, 3, case.mdp.rho, case.mdp.ends)
    curve = tradeoff(mdp, case.core)
    for mu in all_inertia(case.core.shape, (0, 0.5, 1)):
        rate, return_ = performance(mdp, case.core, mu)
        assert return_ <= curve.best_return(max(rate, 0)) + 1e-7


@over_cases(15, gammas=(0.5, 0.9))
def test_the_smoothing_rule_is_under_the_curve(case: Case) -> None:
    smoothed = smoothing_rule(case.mdp, case.core)
    curve = tradeoff(case.mdp, case.core)
    assert smoothed.return_ <= curve.best_return(smoothed.oscillation) + 1e-7


@over_cases(15, gammas=(0.5, 0.9))
def test_the_best_mu_for_a_budget_lies_on_the_curve(case: Case) -> None:
    curve = tradeoff(case.mdp, case.core)
    budget = curve.vertices[-1].switch_rate * 0.6
    point = best_mu(case.mdp, case.core, budget)
    assert point.switch_rate <= budget + 1e-7
    assert point.return_ == pytest.approx(curve.best_return(budget), abs=1e-5)


def test_a_curve_with_too_many_vertices_is_marked_incomplete() -> None:
    mdp = garnet(0, states=8)
    core = random_core(np.random.default_rng(0), mdp)
    whole, some = tradeoff(mdp, core), tradeoff(mdp, core, max_vertices=4)
    assert whole.complete
    assert not some.complete
    assert len(some.vertices) <= 4 < len(whole.vertices)
    for p in some.vertices:
        assert p.return_ <= whole.best_return(p.switch_rate) + 1e-9


def test_a_negative_switch_rate_is_refused() -> None:
    mdp = garnet(0)
    core = random_core(np.random.default_rng(0), mdp)
    with pytest.raises(InputError, match="must be at least 0"):
        best_mu(mdp, core, -0.1)
    with pytest.raises(InputError, match=r"no point has a switch rate of -0\.1: give at least 0"):
        tradeoff(mdp, core).best_return(-0.1)
