"""Limited policies against brute force, hand-worked numbers, and the curve of prices."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog

from policy_inertia.errors import InputError
from policy_inertia.metrics import episodes as metrics
from policy_inertia.tabular import (
    MDP,
    Case,
    LimitedPolicy,
    TokenBucket,
    chance_of_break,
    evaluate_limited,
    expected_return,
    filtered,
    garnet,
    mixed_policy,
    price_curve,
    solve_limit,
    switch_rate,
)
from policy_inertia.tabular.exact_bucket import NO_LIMIT
from policy_inertia.tabular.examples import alternating
from policy_inertia.tabular.values import oscillation
from tests.support.tabular_cases import TokenMDP, over_cases

LIMITS = [TokenBucket(*limit) for limit in (("0", 1), ("1/2", 1), ("0", 2), ("2/3", "3/2"))]


def episodes(mdp: MDP, policy: LimitedPolicy, steps: int) -> Iterator[tuple[float, list[int]]]:
    """Every possible episode of at most `steps` steps: its probability and its actions.

    The tokens are fractions here, and are looked up in the levels of the bucket.
    """
    bucket = policy.bucket
    waiting = [(p, list[int](), s, -1, bucket.burst) for s, p in enumerate(mdp.rho) if p]
    while waiting:
        probability, path, s, prev, tokens = waiting.pop()
        action = policy.action[len(path)] if mdp.horizon else policy.action
        a = int(action[s, prev, bucket.levels.index(int(tokens * bucket.cost))])
        switch = bool(path) and a != prev
        assert not switch or tokens >= 1
        tokens = min(bucket.burst, tokens - switch + bucket.rate)
        path = [*path, a]
        if len(path) == steps:
            yield probability, path
            continue
        if mdp.ends[s, a]:
            yield probability * mdp.ends[s, a], path
        waiting += [
            (probability * p, path, successor, a, tokens)
            for successor, p in enumerate(mdp.P[s, a])
            if p
        ]


# Brute force


@over_cases(12, states=2, actions=2, gammas=(0.5, 0.9))
def test_no_policy_of_all_deterministic_ones_returns_more(case: Case) -> None:
    for bucket in LIMITS:
        every = TokenMDP(case.mdp, bucket.rate, bucket.burst)
        best = max(every.evaluate(policy)[0] for policy in every.policies())
        assert solve_limit(case.mdp, bucket).return_ == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_with_a_long_horizon_value_iteration_agrees(seed: int) -> None:
    mdp = garnet(seed, states=5, actions=3, gamma=0.99)
    for bucket in (TokenBucket("1/5", 1), TokenBucket("1/3", 2)):
        every = TokenMDP(mdp, bucket.rate, bucket.burst)
        best = every.value_iteration(2_500)  # 0.99**2500 is about 1e-11
        assert solve_limit(mdp, bucket).return_ == pytest.approx(best, rel=1e-9)


def test_a_reward_at_the_end_of_a_long_way_is_seen() -> None:
    """Action 1 goes on and earns 1 at the end of 40 states; action 0 stays and earns 0.01."""
    n, g = 40, 0.99
    P = np.zeros((n, 2, n))
    P[:, 0] = np.eye(n)
    P[np.arange(n), 1, np.minimum(np.arange(n) + 1, n - 1)] = 1
    R = np.stack([np.full(n, 0.01), np.arange(n) == n - 1], axis=1)
    mdp = MDP(P, R, g, rho=np.eye(n)[0])
    assert solve_limit(mdp, TokenBucket("1/5", 1)).return_ == pytest.approx(g ** (n - 1) / (1 - g))


@over_cases(5, states=2, actions=2, gammas=(0.5, 0.9))
def test_with_a_price_too_no_deterministic_policy_is_better(case: Case) -> None:
    bucket = LIMITS[1]
    every = TokenMDP(case.mdp, bucket.rate, bucket.burst)
    results = np.array([every.evaluate(policy) for policy in every.policies()])
    for charge in (0.05, 0.3):
        price = charge * case.mdp.effective_horizon
        solved = solve_limit(case.mdp, bucket, price)
        best = (results @ [1, -charge]).max()
        assert solved.return_ - price * solved.switch_rate == pytest.approx(best, abs=1e-10)


@over_cases(5, states=2, actions=2, gammas=(0.5, 0.9))
def test_every_limited_policy_is_evaluated_exactly(case: Case) -> None:
    for bucket in LIMITS[1:]:
        every = TokenMDP(case.mdp, bucket.rate, bucket.burst)
        for policy in list(every.policies())[::7]:
            action = np.zeros((case.mdp.states, 3, len(bucket.levels)), int)
            action[:] = [[0], [1], [0]]  # what cannot occur repeats a_prev
            for (s, prev, tokens), a in policy.items():
                level = bucket.levels.index(int(tokens * bucket.cost))
                action[s, -1 if prev is None else prev, level] = a
            measured = evaluate_limited(case.mdp, bucket, action)
            return_, switches = every.evaluate(policy)
            assert measured.return_ == pytest.approx(return_, abs=1e-10)
            rate = switches / case.mdp.effective_horizon
            assert measured.switch_rate == pytest.approx(rate, abs=1e-10)


@over_cases(20, "any length", states=3, actions=2, gammas=(0.9, 1.0))
def test_with_a_horizon_a_recursion_over_all_choices_agrees(case: Case) -> None:
    mdp = replace(case.mdp, horizon=4)
    for bucket in LIMITS:
        tokens = TokenMDP(mdp, bucket.rate, bucket.burst)
        best = sum(p * tokens.best_return((s, None, bucket.burst)) for s, p in enumerate(mdp.rho))
        assert solve_limit(mdp, bucket).return_ == pytest.approx(best)


# Measures


@over_cases(20, "any length", states=3, actions=3, gammas=(0.9, 1.0))
def test_with_a_horizon_all_episodes_agree_with_the_measures(case: Case) -> None:
    mdp = replace(case.mdp, horizon=4)
    policy = solve_limit(mdp, TokenBucket("1/3", 1))
    chances, paths = zip(*episodes(mdp, policy, 4), strict=True)
    assert sum(chances) == pytest.approx(1)
    ratios = [metrics.oscillation_ratio([path]) for path in paths]
    assert policy.oscillation == pytest.approx(np.dot(chances, ratios))
    switches = [metrics.switches(path) for path in paths]
    assert policy.switch_rate == pytest.approx(np.dot(chances, switches) / 4)


@over_cases(30, states=4, actions=3)
def test_a_policy_without_a_limit_is_measured_as_any_mixed_policy(case: Case) -> None:
    for mdp in (case.mdp, replace(case.mdp, horizon=5)):
        policy = solve_limit(mdp, price=0.2)
        pi = np.eye(mdp.actions)[policy.action[..., 0]]
        assert policy.return_ == pytest.approx(expected_return(mdp, pi))
        assert policy.switch_rate == pytest.approx(switch_rate(mdp, pi))
        assert policy.oscillation == pytest.approx(oscillation(mdp, pi))


# By hand: two states take turns, and action s earns 1 in state s; gamma is g


def test_limits_by_hand() -> None:
    g = 0.5
    mdp = alternating(g)
    free = solve_limit(mdp)
    assert (free.return_, free.switch_rate) == pytest.approx((1 / (1 - g), g))
    # One switch: 0 1 1 1 1 ... earns 1 1 0 1 0 1 ...
    once = solve_limit(mdp, TokenBucket(0, 1))
    assert once.return_ == pytest.approx(1 + g / (1 - g**2))
    assert once.switch_rate == pytest.approx((1 - g) * g)
    # Half a token a step: 0 1 1 1 0 0 0 1 ... earns 1, and then 1 0 1 again and again
    half = solve_limit(mdp, TokenBucket("1/2", 1))
    assert half.return_ == pytest.approx(1 + g * (1 + g**2) / (1 - g**3))
    assert half.switch_rate == pytest.approx((1 - g) * g / (1 - g**3))


def test_a_price_reaches_two_policies_where_limits_reach_what_lies_between() -> None:
    g = 0.5
    mdp = alternating(g)
    curve = price_curve(mdp)
    assert curve.complete
    assert [v.switch_rate for v in curve.vertices] == pytest.approx([0, g])
    assert [v.return_ for v in curve.vertices] == pytest.approx([1 / (1 - g**2), 1 / (1 - g)])
    for bucket in (TokenBucket(0, 1), TokenBucket("1/2", 1), TokenBucket("1/5", 2)):
        limit = solve_limit(mdp, bucket)
        # on the line between the two: no cost, and all of the gap of duality is won
        assert limit.return_ == pytest.approx(curve.best_return(limit.switch_rate))
        assert curve.best_vertex(limit.switch_rate) is curve.vertices[0]
        assert limit.return_ > curve.vertices[0].return_ + 0.3


def test_a_filter_and_the_chance_of_a_break_by_hand() -> None:
    g = 0.5
    mdp = alternating(g)
    always = solve_limit(mdp)
    once = filtered(mdp, always, TokenBucket(0, 1))
    assert once.return_ == pytest.approx(1 + g / (1 - g**2))
    assert once.switch_rate == pytest.approx((1 - g) * g)
    # the switches are at times 1, 2, 3, ...: the bucket is empty at time 2, or at time 3
    assert chance_of_break(mdp, always, TokenBucket(0, 1)) == pytest.approx(g**2)
    assert chance_of_break(mdp, always, TokenBucket("1/2", 1)) == pytest.approx(g**2)
    assert chance_of_break(mdp, always, TokenBucket(0, 2)) == pytest.approx(g**3)
    assert chance_of_break(mdp, price_curve(mdp).vertices[0], TokenBucket(0, 1)) == 0
    assert chance_of_break(replace(mdp, horizon=3), solve_limit(replace(mdp, horizon=3)),
                           TokenBucket(0, 1)) == 1  # fmt: skip


# Curves


@over_cases(15, states=2, actions=2, gammas=(0.5, 0.9))
def test_the_curve_of_prices_is_the_upper_hull_of_all_deterministic_policies(case: Case) -> None:
    mdp = case.mdp
    curve = price_curve(mdp)
    assert curve.complete
    points = []
    for chosen in product(range(2), repeat=mdp.states * 3):
        pi = np.eye(2)[np.array(chosen).reshape(mdp.states, 3)]
        points.append((max(switch_rate(mdp, pi), 0), expected_return(mdp, pi)))
    for rate, return_ in points:
        assert return_ <= curve.best_return(rate) + 1e-8
    for v in curve.vertices:
        assert min(np.hypot(v.switch_rate - x, v.return_ - y) for x, y in points) < 1e-8


@over_cases(10, states=3, actions=3, gammas=(0.5, 0.9))
def test_the_curve_of_prices_is_the_best_in_expectation(case: Case) -> None:
    """Compare with the linear program over all policies, random ones included."""
    mdp = case.mdp
    curve = price_curve(mdp)
    S, A = mdp.states, mdp.actions
    index = np.arange(S * (A + 1) * A).reshape(S, A + 1, A)
    flow, inflow = np.zeros((S, A + 1, index.size)), np.zeros((S, A + 1))
    inflow[:, -1] = mdp.rho
    for s, b, a in product(range(S), range(A + 1), range(A)):
        flow[s, b, index[s, b, a]] += 1
        flow[:, a, index[s, b, a]] -= mdp.gamma * mdp.P[s, a]
    switches = np.zeros(index.shape)
    switches[:, :-1] = 1 - np.eye(A)
    rewards = np.broadcast_to(mdp.R[:, None], index.shape)
    for share in (0.3, 0.7):
        rate = share * curve.vertices[-1].switch_rate
        solution = linprog(
            -rewards.ravel(),
            A_eq=flow.reshape(-1, index.size),
            b_eq=inflow.ravel(),
            A_ub=switches.reshape(1, -1) * (1 - mdp.gamma),
            b_ub=[rate],
        )
        assert curve.best_return(rate) == pytest.approx(-solution.fun, abs=1e-6)


@over_cases(15, states=4, actions=3, gammas=(0.5, 0.9))
def test_no_limit_lies_above_the_curve_of_prices(case: Case) -> None:
    """A limited policy is a policy with a memory, and no memory beats the best in expectation."""
    for mdp in (case.mdp, replace(case.mdp, horizon=6)):
        curve = price_curve(mdp)
        for bucket in LIMITS:
            limit = solve_limit(mdp, bucket)
            assert limit.return_ <= curve.best_return(limit.switch_rate) + 1e-8
            assert limit.return_ >= curve.vertices[0].return_ - 1e-10


@over_cases(15, "any length", gammas=(0.9, 1.0))
def test_with_a_horizon_no_mixed_policy_is_above_the_curve_of_prices(case: Case) -> None:
    curve = price_curve(case.mdp)
    pi = mixed_policy(case.core, case.mu)
    rate = max(switch_rate(case.mdp, pi), 0)
    assert expected_return(case.mdp, pi) <= curve.best_return(rate) + 1e-8


@over_cases(15, states=4, actions=3, gammas=(0.5, 0.9))
def test_a_looser_limit_returns_no_less_and_planning_no_less_than_a_filter(case: Case) -> None:
    for loose in (("1/2", 1), ("0", 2)):
        tighter, looser = (solve_limit(case.mdp, TokenBucket(*b)) for b in (("0", 1), loose))
        assert looser.return_ >= tighter.return_ - 1e-10
    curve = price_curve(case.mdp)
    for bucket in LIMITS:
        planned = solve_limit(case.mdp, bucket).return_
        for vertex in curve.vertices:
            assert filtered(case.mdp, vertex, bucket).return_ <= planned + 1e-10


# The guarantee


@pytest.mark.parametrize("bucket", [*LIMITS, TokenBucket("1/5", 2)], ids=str)
def test_no_stretch_of_any_episode_has_more_switches_than_the_limit(bucket: TokenBucket) -> None:
    for seed in range(3):
        mdp = garnet(seed, states=4, actions=3)
        for policy in (solve_limit(mdp, bucket), filtered(mdp, solve_limit(mdp), bucket)):
            most = np.zeros(10, int)
            for _, path in episodes(mdp, policy, 9):
                switches = np.cumsum([0, 0, *(a != b for a, b in pairwise(path))])
                for n in range(1, 10):
                    most[n] = max(most[n], (switches[n:] - switches[:-n]).max())
            for n in range(1, 10):
                assert most[n] <= bucket.most_switches(n) <= bucket.burst + bucket.rate * n


@over_cases(20, "any length", states=3, actions=2, gammas=(0.9, 1.0))
def test_the_chance_of_a_break_agrees_with_all_episodes(case: Case) -> None:
    mdp = replace(case.mdp, horizon=5)
    policy = solve_limit(mdp)
    for bucket in LIMITS:
        broken = 0.0
        for chance, path in episodes(mdp, policy, 5):
            tokens = bucket.burst
            for switch in (False, *(a != b for a, b in pairwise(path))):
                if switch and tokens < 1:
                    broken += chance
                    break
                tokens = min(bucket.burst, tokens - switch + bucket.rate)
        assert chance_of_break(mdp, policy, bucket) == pytest.approx(broken)


# Refusals


def test_what_makes_no_sense_is_refused() -> None:
    mdp, bucket = alternating(), TokenBucket(0, 1)
    with pytest.raises(InputError, match="price is -1: it must be at least 0"):
        solve_limit(mdp, bucket, -1)
    with pytest.raises(InputError, match=r"shape \(2, 3\): give \(2, 3, 2\)"):
        evaluate_limited(mdp, bucket, np.zeros((2, 3), int))
    with pytest.raises(InputError, match="switches without a token"):
        evaluate_limited(mdp, bucket, np.zeros((2, 3, 2), int))
    with pytest.raises(InputError, match="has a limit already"):
        filtered(mdp, solve_limit(mdp, bucket), bucket)
    assert filtered(mdp, solve_limit(mdp), NO_LIMIT).return_ == solve_limit(mdp).return_
