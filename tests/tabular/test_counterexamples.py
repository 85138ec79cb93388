"""The smallest known cases in which a statement of the paper fails, and what mends them.

`search.counterexample` found these cases, or found larger ones that led to these (docs/theory.md
says which). `search.minimise` cannot simplify any of them further.
"""

from typing import Any

import numpy as np
import pytest

from policy_inertia.tabular import (
    MDP,
    Case,
    expected_return,
    greedy,
    intermediate_improvement,
    mixed_policy,
    mixed_values,
    nested_policy_iteration,
    oscillation_ratio,
    smoothing_rule,
    soft,
)
from policy_inertia.tabular.iteration import whole_rounds
from policy_inertia.tabular.margins import (
    Margin,
    any_mu,
    first_mu_throughout,
    improved_core,
    improvement_at_bound,
    iteration,
    lemma,
    rule_oscillation,
)
from policy_inertia.tabular.rules import compare
from policy_inertia.tabular.search import counterexample, minimise, without_ties


def case(
    successors: list[list[Any]],
    rewards: list[list[float]],
    core: list[list[float]],
    mu: list[list[float]] | None = None,
    **settings: Any,
) -> Case:
    """Build a case from `successors[s][a]`: a state, a distribution of states, or None for an end.

    Episodes start in state 0; gamma is 1 unless it is given.
    """
    states, actions = len(successors), len(successors[0])
    P, ends = np.zeros((states, actions, states)), np.zeros((states, actions))
    for s, row in enumerate(successors):
        for a, successor in enumerate(row):
            if successor is None:
                ends[s, a] = 1
            else:
                P[s, a] = np.eye(states)[successor] if isinstance(successor, int) else successor
    mdp = MDP(P, rewards, **{"gamma": 1.0, "rho": np.eye(states)[0], "ends": ends, **settings})
    return Case(
        mdp,
        np.array(core, float),
        np.zeros((states, actions)) if mu is None else np.array(mu, float),
    )


# Episodes have different lengths: the core takes 0 1 and the episode ends, with ratio 1/2. The rule
# takes 0 0 1 0 1: one more repeat, and ratio 3/5.
LONGER = case(
    [[1, 1], [2, None], [3, 3], [2, 2]],
    [[0, 0], [1, 0], [0, 0], [0, 0]],
    [[1, 0], [0, 1], [0, 1], [1, 0]],
    horizon=5,
)
# Counting switches fails as well: 0 1 0 0 0 0 0 (2/7) becomes 0 1 1 and the episode ends (1/3).
SHORTER = case(
    [[1, 1], [2, 2], [2, None]],
    [[0, 0], [0, 0], [0, 1]],
    [[1, 0], [0, 1], [1, 0]],
    horizon=7,
)
# The action taken now decides what counts as a switch next, so V_o depends on a_prev.
STATE_ONLY = case(
    [[[0.5, 0.5], [0.5, 0.5]], [1, 0]],
    [[1, 1], [0, -1]],
    [[0.5, 0.5], [1, 0]],
    horizon=5,
)
# With two steps left, repeating action 1 in state 0 pays; with one step left it does not.
TIMELESS = case(
    [[1, 0], [0, 0]],
    [[1, 0], [-1, 0]],
    [[0.5, 0.5], [1, 0]],
    horizon=2,
)
# The core gets better and the mixed policy gets worse: the core goes to state 1 for the reward of
# action 1 there, and the controller repeats the action that led there, which costs.
MISLED = case(
    [[1, 0], [1, 0]],
    [[0, 0], [-1, 1]],
    [[0, 1], [0, 1]],
    [[0, 0], [1, 0]],
    gamma=0.5,
)
# Nested iteration gets worse over a whole round: the core learns in the same step to win in state 1
# and to avoid it, because it used to lose there; the controller used to win there.
AVOIDING = case(
    [[0, 1], [0, 0]],
    [[0, 0], [-1, 1]],
    [[0, 1], [1, 0]],
    [[0, 0], [0, 1]],
    gamma=0.5,
)
# The same with entropy and one temperature in both halves, where ties play no role.
AVOIDING_SOFT = case(
    [[0, 0], [1, 0]],
    [[-1, 0], [0, 0]],
    [[1, 0], [0.5, 0.5]],
    [[0, 1], [0, 0]],
    gamma=0.5,
)
# C_0 is read as the largest A instead of the largest |A|.
SIGNED = case(
    [[1, 1], [0, 0]],
    [[0, 0.001], [0, -1]],
    [[1, 0], [1, 0]],
    [[0, 0], [0, 1]],
    gamma=0.5,
)

FAILING: dict[str, tuple[Case, Margin]] = {
    "longer": (LONGER, rule_oscillation("repeats")),
    "shorter": (SHORTER, rule_oscillation("switches")),
    "state only": (STATE_ONLY, rule_oscillation("state-only")),
    "timeless": (TIMELESS, first_mu_throughout),
    "misled": (MISLED, without_ties(any_mu(greedy(), False))),
    "avoiding": (AVOIDING, without_ties(iteration(greedy(), greedy(), rounds=1))),
    "avoiding, soft": (AVOIDING_SOFT, iteration(soft(0.1), soft(0.1))),
    "signed": (SIGNED, without_ties(lemma(greedy(), signed=True))),
}


@pytest.mark.parametrize("name", FAILING)
def test_the_statement_fails_and_the_case_cannot_be_simplified(name: str) -> None:
    example, margin = FAILING[name]
    value = margin(example)
    assert value is not None
    assert value < -1e-6
    assert minimise(margin, example) is example


def test_more_repeats_can_mean_more_oscillation() -> None:
    smoothed = smoothing_rule(LONGER.mdp, LONGER.core)
    assert smoothed.core_oscillation == pytest.approx(1 / 2)
    assert smoothed.oscillation == pytest.approx(3 / 5)
    assert smoothed.return_margin == 1
    assert smoothing_rule(LONGER.mdp, LONGER.core, "ratio").holds()
    P = LONGER.mdp.P + LONGER.mdp.ends[..., None] * np.eye(4)[1]
    one_length = MDP(P, LONGER.mdp.R, 1.0, 5, LONGER.mdp.rho)
    assert smoothing_rule(one_length, LONGER.core).holds()


def test_fewer_switches_can_mean_more_oscillation() -> None:
    smoothed = smoothing_rule(SHORTER.mdp, SHORTER.core, "switches")
    assert smoothed.core_oscillation == pytest.approx(2 / 7)
    assert smoothed.oscillation == pytest.approx(1 / 3)
    assert smoothing_rule(SHORTER.mdp, SHORTER.core, "ratio").holds()


def test_values_without_the_previous_action_mislead_the_rule() -> None:
    assert not smoothing_rule(STATE_ONLY.mdp, STATE_ONLY.core, "state-only").holds()
    assert smoothing_rule(STATE_ONLY.mdp, STATE_ONLY.core).holds()


def test_a_better_core_can_make_a_worse_mixed_policy() -> None:
    new_core = improved_core(MISLED, greedy())
    result = intermediate_improvement(MISLED.mdp, MISLED.core, new_core, MISLED.mu)
    assert result.improvement > 0 > result.actual
    small_mu = MISLED.mu * result.bound * 0.9
    within = intermediate_improvement(MISLED.mdp, MISLED.core, new_core, small_mu)
    assert within.within
    assert within.actual >= 0


def test_a_whole_round_can_lose_and_nested_iteration_still_ends_at_the_optimum() -> None:
    steps = nested_policy_iteration(
        AVOIDING.mdp, greedy(), greedy(), AVOIDING.core, AVOIDING.mu, rounds=10
    )
    objectives = [s.objective for s in whole_rounds(steps)]
    # to state 1 and back, with 1 earned at t = 1, 3, ...: (1/2) / (1 - 1/4) = 2/3; then nothing;
    # then 2/3 again
    assert objectives[:3] == pytest.approx([2 / 3, 0, 2 / 3])
    assert objectives[-1] == pytest.approx(2 / 3)


def test_the_mu_of_the_first_time_can_lose_return_later() -> None:
    mu = smoothing_rule(TIMELESS.mdp, TIMELESS.core).mu
    first = compare(TIMELESS.mdp, TIMELESS.core, mu[0])
    assert [first.core_return, first.return_] == pytest.approx([0.25, 0])
    assert compare(TIMELESS.mdp, TIMELESS.core, mu).holds()


def test_with_entropy_the_lemma_is_false() -> None:
    """The mixture's own entropy is steeper at mu = 0 than any linear bound; here A = Q - V."""
    mdp = MDP(np.ones((1, 2, 1)), [[0, 1e-4]], 0.9)
    old, new = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    mu = np.array([[0, 5e-4]])
    result = intermediate_improvement(mdp, old, new, mu, alpha=1.0)
    assert result.improvement == pytest.approx(9e-4)
    assert result.bound == pytest.approx(5.8e-4, abs=5e-6)
    assert result.within
    assert result.guaranteed == 0
    assert result.actual == pytest.approx(-3.0e-3, abs=5e-5)
    assert result.actual >= result.sharper  # our guarantee counts that entropy
    without_entropy = intermediate_improvement(mdp, old, new, mu)
    assert without_entropy.within
    assert without_entropy.actual >= without_entropy.guaranteed


def test_the_lemma_is_false_if_c0_bounds_only_a_from_above() -> None:
    signed = improvement_at_bound(SIGNED, greedy(), signed=True)
    assert signed.within
    assert signed.improvement > 0 > signed.actual
    assert improvement_at_bound(SIGNED, greedy()).actual > 0


def test_the_search_finds_a_small_counterexample() -> None:
    margin = without_ties(any_mu(greedy(), False))
    example = counterexample(margin, max_states=2, descents=10)
    assert example is not None
    assert example.mdp.states == 2
    value = margin(example)
    assert value is not None
    assert value < 0


def test_the_search_finds_nothing_against_a_true_statement() -> None:
    assert counterexample(lemma(greedy()), max_states=2, descents=1, steps=30) is None


def test_mu_of_ones_never_switches() -> None:
    pi = mixed_policy(LONGER.core, np.ones_like(LONGER.core))
    assert oscillation_ratio(LONGER.mdp, pi) == 0
    assert expected_return(LONGER.mdp, pi) == 1
    assert mixed_values(LONGER.mdp, pi).shape == (5, 4, 3, 2)
