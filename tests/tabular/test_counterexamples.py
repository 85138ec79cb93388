"""The smallest cases known in which a statement fails, each with what makes it true again.

`search.counterexample` found them, or found larger ones that made a plainer one easy to write
(docs/theory.md says which); `search.minimised` cannot take anything away from any of them.
"""

import numpy as np
import pytest

from policy_inertia.tabular import (
    MDP,
    Case,
    expected_return,
    greedy,
    intermediate,
    mixed,
    mixed_values,
    nested_policy_iteration,
    oscillation_ratio,
    smoother,
    soft,
)
from policy_inertia.tabular.checks import (
    _any_mu,
    _lemma,
    _rule,
    _timeless,
    _worst_round,
    at_bound,
    improved,
)
from policy_inertia.tabular.rules import compare
from policy_inertia.tabular.search import clear_cut, counterexample, minimised


def case(to, rewards, core, mu=None, ends=None, **more):
    """A case from `to[s][a]`: the next state, its chances, or None for an end."""
    states, actions = len(to), len(to[0])
    P, stops = np.zeros((states, actions, states)), np.zeros((states, actions))
    for s, row in enumerate(to):
        for a, there in enumerate(row):
            if there is None:
                stops[s, a] = 1
            else:
                P[s, a] = np.eye(states)[there] if np.isscalar(there) else there
    mdp = MDP(P, rewards, **{"gamma": 1.0, "rho": np.eye(states)[0], "ends": stops, **more})
    mu = np.zeros((states, actions)) if mu is None else np.array(mu, float)
    return Case(mdp, np.array(core, float), mu)


# Episodes of different lengths: 0 1 and over, or 0 0 1 0 1. One repeat more, and 3/5 against 1/2.
LONGER = case(
    [[1, 1], [2, None], [3, 3], [2, 2]],
    [[0, 0], [1, 0], [0, 0], [0, 0]],
    [[1, 0], [0, 1], [0, 1], [1, 0]],
    horizon=5,
)
# Counting switches does not mend it: 0 1 0 0 0 0 0 (2/7), or 0 1 1 and over (1/3).
SHORTER = case(
    [[1, 1], [2, 2], [2, None]],
    [[0, 0], [0, 0], [0, 1]],
    [[1, 0], [0, 1], [1, 0]],
    horizon=7,
)
# What is repeated now decides what counts as a switch next: V_o needs a_prev.
STATE_ONLY = case(
    [[[0.5, 0.5], [0.5, 0.5]], [1, 0]],
    [[1, 1], [0, -1]],
    [[0.5, 0.5], [1, 0]],
    horizon=5,
)
# With two steps to go repeating action 1 in state 0 pays, with one it does not.
TIMELESS = case(
    [[1, 0], [0, 0]],
    [[1, 0], [-1, 0]],
    [[0.5, 0.5], [1, 0]],
    horizon=2,
)
# A better core and a worse mixed policy: the core goes to state 1 for the reward of action 1
# there, and the controller repeats the action that led to it, which costs.
MISLED = case(
    [[1, 0], [1, 0]],
    [[0, 0], [-1, 1]],
    [[0, 1], [0, 1]],
    [[0, 0], [1, 0]],
    gamma=0.5,
)
# Nested iteration gets worse over a whole round: the core avoids state 1, where it lost, in the
# moment in which it learns to win there; the controller won there all along.
AVOIDING = case(
    [[0, 1], [0, 0]],
    [[0, 0], [-1, 1]],
    [[0, 1], [1, 0]],
    [[0, 0], [0, 1]],
    gamma=0.5,
)
# The same with entropy and one temperature in both halves, where no tie can be blamed.
AVOIDING_SOFT = case(
    [[0, 0], [1, 0]],
    [[-1, 0], [0, 0]],
    [[1, 0], [0.5, 0.5]],
    [[0, 1], [0, 0]],
    gamma=0.5,
)
# C_0 as the largest A instead of the largest |A|.
SIGNED = case(
    [[1, 1], [0, 0]],
    [[0, 0.001], [0, -1]],
    [[1, 0], [1, 0]],
    [[0, 0], [0, 1]],
    gamma=0.5,
)

FAILING = {
    "longer": (LONGER, _rule("repeats", "oscillation")),
    "shorter": (SHORTER, _rule("switches", "oscillation")),
    "state only": (STATE_ONLY, _rule("state-only", "oscillation")),
    "timeless": (TIMELESS, _timeless),
    "misled": (MISLED, clear_cut(_any_mu(greedy(), False))),
    "avoiding": (AVOIDING, clear_cut(lambda c: _worst_round(c, greedy(), greedy(), 1))),
    "avoiding, soft": (AVOIDING_SOFT, lambda c: _worst_round(c, soft(0.1), soft(0.1))),
    "signed": (SIGNED, clear_cut(_lemma(greedy(), signed=True))),
}


@pytest.mark.parametrize("name", FAILING)
def test_it_fails_and_nothing_can_be_taken_away(name):
    found, margin = FAILING[name]
    assert margin(found) < -1e-6
    assert minimised(margin, found) is found


def test_more_repeats_can_be_more_oscillation():
    found = smoother(LONGER.mdp, LONGER.core)
    assert found.core_oscillation == pytest.approx(1 / 2)
    assert found.oscillation == pytest.approx(3 / 5)
    assert found.return_margin == 1
    assert smoother(LONGER.mdp, LONGER.core, "ratio").holds()
    one_length = MDP(LONGER.mdp.P + LONGER.mdp.ends[..., None] * np.eye(4)[1],
                     LONGER.mdp.R, 1.0, 5, LONGER.mdp.rho)  # fmt: skip
    assert smoother(one_length, LONGER.core).holds()


def test_fewer_switches_can_be_more_oscillation():
    found = smoother(SHORTER.mdp, SHORTER.core, "switches")
    assert found.core_oscillation == pytest.approx(2 / 7)
    assert found.oscillation == pytest.approx(1 / 3)
    assert smoother(SHORTER.mdp, SHORTER.core, "ratio").holds()


def test_values_without_the_previous_action_mislead_the_rule():
    assert not smoother(STATE_ONLY.mdp, STATE_ONLY.core, "state-only").holds()
    assert smoother(STATE_ONLY.mdp, STATE_ONLY.core).holds()


def test_a_better_core_can_make_a_worse_mixed_policy():
    new = improved(MISLED, greedy())
    found = intermediate(MISLED.mdp, MISLED.core, new, MISLED.mu)
    assert found.improvement > 0 > found.actual
    within = intermediate(MISLED.mdp, MISLED.core, new, MISLED.mu * found.bound * 0.9)
    assert within.within
    assert within.actual >= 0


def test_a_whole_round_can_lose_and_nested_iteration_still_ends_well():
    steps = nested_policy_iteration(
        AVOIDING.mdp, greedy(), greedy(), AVOIDING.core, AVOIDING.mu, rounds=10
    )
    whole = [s.objective for s in steps if s.half != "inner"]
    # to state 1 and back, with 1 earned at t = 1, 3, ...: (1/2) / (1 - 1/4) = 2/3; then nothing;
    # then 2/3 again
    assert whole[:3] == pytest.approx([2 / 3, 0, 2 / 3])
    assert whole[-1] == pytest.approx(2 / 3)


def test_the_first_moments_mu_does_not_serve_a_whole_episode():
    mu = smoother(TIMELESS.mdp, TIMELESS.core).mu
    kept = compare(TIMELESS.mdp, TIMELESS.core, mu[0])
    assert (kept.core_return, kept.return_) == (pytest.approx(0.25), pytest.approx(0))
    assert compare(TIMELESS.mdp, TIMELESS.core, mu).holds()


def test_with_entropy_the_lemma_is_false():
    """One state: the mixture's own entropy is steeper at mu = 0 than any linear bound."""
    mdp = MDP(np.ones((1, 2, 1)), [[0, -1.38]], 0.1)
    old, new = np.array([[1.0, 0]]), np.array([[0.5, 0.5]])
    mu = np.array([[0, 0.0005]])
    found = intermediate(mdp, old, new, mu, alpha=1.0)
    assert found.improvement > 0
    assert found.within
    assert found.actual < found.guaranteed == 0
    assert found.actual >= found.sharper  # our promise counts that entropy
    plain = intermediate(mdp, new, old, mu)  # without entropy the change is an improvement back
    assert plain.actual >= plain.guaranteed - 1e-12


def test_read_literally_c0_is_no_bound():
    found = at_bound(SIGNED, greedy(), signed=True)
    assert found.within
    assert found.improvement > 0 > found.actual
    assert at_bound(SIGNED, greedy()).actual > 0


def test_search_finds_a_small_one_again():
    margin = clear_cut(_any_mu(greedy(), False))
    found = counterexample(margin, most_states=2, climbs=10)
    assert found is not None
    assert found.mdp.states == 2
    assert margin(found) < 0


def test_search_finds_nothing_against_what_holds():
    assert counterexample(_lemma(greedy()), most_states=2, climbs=1, steps=30) is None


def test_frozen_is_no_switch_at_all():
    pi = mixed(LONGER.core, np.ones_like(LONGER.core))
    assert oscillation_ratio(LONGER.mdp, pi) == 0
    assert expected_return(LONGER.mdp, pi) == 1
    assert mixed_values(LONGER.mdp, pi).shape == (5, 4, 3, 2)
