import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policy_inertia.algorithms.losses import inertia, log_mixture, soft_policy_loss
from policy_inertia.errors import InputError
from policy_inertia.tabular import (
    MDP,
    Case,
    garnet,
    greedy,
    mixed_policy,
    mixed_values,
    nested_policy_iteration,
    soft,
)
from policy_inertia.tabular.iteration import soft_inertia, whole_rounds
from policy_inertia.tabular.values import state_value
from policy_inertia.types import Array
from tests.support.tabular_cases import over_cases


def optimal_values(mdp: MDP) -> np.ndarray:
    """V of the best policy, by plain value iteration."""
    v = np.zeros(mdp.states)
    for _ in range(600):
        v = (mdp.R + mdp.gamma * mdp.P @ v).max(1)
    return v


@over_cases(60)
def test_greedy_iteration_ends_at_the_optimum(case: Case) -> None:
    last = nested_policy_iteration(case.mdp, greedy(), greedy(), case.core, case.mu)[-1]
    v = state_value(mixed_policy(last.core, last.mu), last.q)[:, -1]
    np.testing.assert_allclose(v, optimal_values(case.mdp), atol=1e-8)


@over_cases(40)
def test_with_one_objective_mu_becomes_idle(case: Case) -> None:
    """The core ends optimal for the objective, and then mu has nothing left to gain."""
    for half in (greedy(), soft(0.1)):
        steps = nested_policy_iteration(case.mdp, half, half, case.core, case.mu, rounds=500)
        last = steps[-1]
        q_core = np.broadcast_to(last.q_core[:, None], last.q.shape)
        np.testing.assert_allclose(last.q, q_core, atol=1e-8)
        if half.temperature:  # then the optimum is unique
            assert last.mu.max() < 1e-6


def test_with_greedy_ties_an_idle_mu_need_not_be_0() -> None:
    """A custom outer half that repeats in case of a tie keeps mu = 1 at the same Q."""
    mdp = MDP(np.ones((1, 2, 1)), [[1, 1]], 0.5)
    keep = greedy()._replace(inertia=lambda q, core: np.ones(core.shape))
    last = nested_policy_iteration(mdp, greedy(), keep)[-1]
    assert (last.mu == 1).all()
    np.testing.assert_allclose(last.q, np.broadcast_to(last.q_core[:, None], last.q.shape))


def test_with_a_cooler_outer_half_mu_survives() -> None:
    """The paper's settings smooth because their two objectives differ."""
    steps = nested_policy_iteration(garnet(0), soft(0.1), soft(0.01))
    assert steps[-1].mu.max() > 0.5
    same_objective = nested_policy_iteration(garnet(0), soft(0.1), soft(0.1))[-1]
    assert steps[-1].switch_rate < same_objective.switch_rate


@over_cases(100)
def test_the_outer_half_improves_every_q(case: Case) -> None:
    for half in (greedy(), soft(0.05), soft(1.0)):
        q = mixed_values(case.mdp, mixed_policy(case.core, case.mu), half.temperature)
        mu = half.inertia(q, case.core)
        new = mixed_values(case.mdp, mixed_policy(case.core, mu), half.temperature)
        assert (new - q).min() > -1e-9


@over_cases(100)
def test_soft_inertia_is_no_worse_than_any_mu_of_a_fine_grid(case: Case) -> None:
    q = mixed_values(case.mdp, mixed_policy(case.core, case.mu), 0.2)
    mu = soft_inertia(q, case.core, 0.2)
    best = state_value(mixed_policy(case.core, mu), q, 0.2)
    for level in np.linspace(0, 1, 101):
        other = state_value(mixed_policy(case.core, np.full_like(mu, level)), q, 0.2)
        assert (best - other).min() > -1e-9


def test_the_gradient_of_nsacs_loss_vanishes_at_the_soft_inertia() -> None:
    """Bisect on the gradient of NSAC's own loss in the pre-activation of mu."""
    rng = np.random.default_rng(0)
    n, alpha = 200, 0.2
    core, q = rng.dirichlet(np.ones(4), n), rng.normal(size=(n, 4))
    prev = rng.integers(4, size=n)

    @jax.jit
    @jax.grad
    def slope(x: jax.Array) -> Array:
        return soft_policy_loss(log_mixture(x, jnp.log(core), prev, 0.0), jnp.asarray(q), alpha)

    low, high = np.full(n, -9.0), np.full(n, 9.0)
    for _ in range(40):  # the loss is convex in mu, so there is one minimum
        middle = (low + high) / 2
        falls = np.asarray(slope(jnp.asarray(middle, jnp.float32))) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    expected = soft_inertia(np.repeat(q[:, None], 5, 1), core, alpha)[np.arange(n), prev]
    np.testing.assert_allclose(inertia(low, 0.0, np), expected, atol=1e-4)
    assert (expected == 0).any()
    assert ((expected > 0.1) & (expected < 0.9)).sum() > 20


def test_nested_iteration_by_hand() -> None:
    # One state, rewards 0 and 1. From a uniform core with mu = 0, the first inner step takes
    # action 1.
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.5)
    steps = nested_policy_iteration(mdp, greedy(), greedy(), [[0.5, 0.5]], np.zeros((1, 2)))
    assert [(s.half, s.round) for s in steps[:3]] == [("start", 0), ("inner", 1), ("outer", 1)]
    assert [s.objective for s in steps[:3]] == pytest.approx([1, 2, 2])
    assert [s.core_objective for s in steps[:3]] == pytest.approx([1, 2, 2])
    np.testing.assert_array_equal(steps[1].core, [[0, 1]])
    # after action 0 the mixed policy is the core, so Q(., 0) = 0.5 * 2
    np.testing.assert_allclose(steps[2].q, [[[1, 2], [1, 2], [1, 2]]])


def test_several_inner_steps_are_recorded_one_by_one() -> None:
    steps = nested_policy_iteration(garnet(1), greedy(), soft(0.1), rounds=2, inner_steps=3)
    assert [s.half for s in steps] == ["start", *["inner"] * 3, "outer", *["inner"] * 3, "outer"]
    assert [s.round for s in whole_rounds(steps)] == [0, 1, 2]


def test_nested_iteration_accepts_any_improvement() -> None:
    constant = greedy()._replace(name="constant", inertia=lambda q, core: np.full(core.shape, 0.25))
    steps = nested_policy_iteration(garnet(1), greedy(), constant, rounds=3)
    assert (steps[-1].mu == 0.25).all()


@over_cases(20, "any length")
def test_with_a_horizon_mu_depends_on_time_and_the_optimum_is_reached(case: Case) -> None:
    steps = nested_policy_iteration(case.mdp, greedy(), greedy(), case.core, case.mu)
    assert steps[-1].mu.shape == (6, *case.core.shape)
    best = 0.0
    v = np.zeros(case.mdp.states)
    for _ in range(6):
        v = (case.mdp.R + case.mdp.gamma * case.mdp.P @ v).max(1)
        best = case.mdp.rho @ v
    assert steps[-1].objective == pytest.approx(best)


@over_cases(40)
def test_from_a_converged_core_no_step_lowers_any_q(case: Case) -> None:
    steps = nested_policy_iteration(case.mdp, greedy(), greedy(), case.core, case.mu)
    core = steps[-1].core
    for old, new in itertools.pairwise(
        nested_policy_iteration(case.mdp, greedy(), greedy(), core, case.mu)
    ):
        assert (new.q - old.q).min() > -1e-9


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="one above 0"):
        soft(0.0)
    with pytest.raises(InputError, match="both must be at least 1"):
        nested_policy_iteration(garnet(0), greedy(), greedy(), rounds=0)
