"""The best return under a hard limit on switching, and the best return for a price of switching.

Both are policies of one MDP and are measured in the same way, so their curves can be compared. The
arrays are described in `augmented`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.tabular.augmented import AugmentedMDP
from policy_inertia.tabular.curve import Curve, find_curve
from policy_inertia.tabular.exact_bucket import NO_LIMIT, TokenBucket
from policy_inertia.tabular.mdp import MDP


@dataclass(frozen=True)
class LimitedPolicy:
    """A policy that sees the level of its bucket, with its exact return and switch rate."""

    bucket: TokenBucket
    action: np.ndarray
    """Actions, (S, A + 1, K), or (T, S, A + 1, K) with a horizon T."""
    return_: float
    switch_rate: float
    """Measured as `values.switch_rate` does."""
    oscillation: float
    """Measured as `values.oscillation` does: with a horizon, the oscillation ratio E[c / n]."""


def solve_limit(mdp: MDP, bucket: TokenBucket = NO_LIMIT, price: float = 0.0) -> LimitedPolicy:
    """Find the policy with the largest return - price * switch rate under a hard limit.

    Args:
        mdp: The MDP.
        bucket: The limit. Default: none.
        price: Price of the switch rate, at least 0.

    Returns:
        The policy, deterministic in (s, a_prev, tokens), and with a horizon in time. Where actions
        are equally good, it repeats a_prev.

    Raises:
        InputError: The price is negative.
    """
    if not price >= 0:
        raise InputError(f"price is {price}: it must be at least 0")
    augmented = AugmentedMDP(mdp, bucket)
    return _measured(augmented, augmented.solve(price / mdp.effective_horizon))


def evaluate_limited(mdp: MDP, bucket: TokenBucket, action: np.ndarray) -> LimitedPolicy:
    """Evaluate any policy that sees the level of its bucket.

    Args:
        mdp: The MDP.
        bucket: The limit.
        action: The actions, (S, A + 1, K), or (T, S, A + 1, K) with a horizon T.

    Returns:
        The policy with its return and switch rate.

    Raises:
        InputError: The shape is wrong, or the policy switches without a token.
    """
    augmented = AugmentedMDP(mdp, bucket)
    action = np.asarray(action)
    if action.shape != augmented.full_shape:
        raise InputError(f"the actions have shape {action.shape}: give {augmented.full_shape}")
    if (augmented.switches(action) & ~bucket.can_switch).any():
        raise InputError("the policy switches without a token: put it into the bucket first")
    return _measured(augmented, action)


def filtered(mdp: MDP, policy: LimitedPolicy, bucket: TokenBucket) -> LimitedPolicy:
    """Put a bucket around a policy that sees no tokens: without a token, a_prev is repeated.

    Args:
        mdp: The MDP.
        policy: A policy without a limit.
        bucket: The limit.

    Returns:
        The policy inside the bucket; it was not planned for the limit.

    Raises:
        InputError: The policy has a limit.
    """
    if len(policy.bucket.levels) > 1:
        raise InputError("the policy has a limit already: give one that was solved without")
    prev = np.arange(mdp.actions + 1)[:, None]
    possible = bucket.can_switch | (prev == mdp.actions)
    return evaluate_limited(mdp, bucket, np.where(possible, policy.action, prev))


def chance_of_break(mdp: MDP, policy: LimitedPolicy, bucket: TokenBucket) -> float:
    """Probability that an episode of a policy without a limit breaks this limit.

    Without a horizon, gamma counts as the probability that the episode goes on after a step.

    Args:
        mdp: The MDP.
        policy: A policy without a limit.
        bucket: The limit.

    Returns:
        The probability of at least one switch without a token.
    """
    action = filtered(mdp, policy, bucket).action
    held = (action != policy.action).astype(float)
    (chance,) = AugmentedMDP(mdp, bucket).expected(action, held[..., None], goes_on=1 - held)
    return float(chance)


def price_curve(
    mdp: MDP,
    bucket: TokenBucket = NO_LIMIT,
    max_vertices: int = 1_000,
    tolerance: float = 1e-9,
) -> Curve[LimitedPolicy]:
    """Compute what prices of switching reach, over all policies on (s, a_prev, tokens).

    The vertices are the optima of all prices. The curve through them is the best that any policy
    reaches if only the expected switches count: between two vertices by mixing their policies.
    Without a limit no policy lies above it, with or without a memory, so no limited policy does.

    Args:
        mdp: The MDP.
        bucket: A limit that all policies keep. Default: none.
        max_vertices: Stop after this many vertices.
        tolerance: Height above a chord that counts as rounding.

    Returns:
        The curve, from the best policy that never switches to the best one without a price.
    """
    augmented = AugmentedMDP(mdp, bucket)
    largest_gain = float(mdp.R.max() - mdp.R.min()) * mdp.effective_horizon  # of one switch
    first = augmented.solve(largest_gain + 1)

    def solve(price: float) -> LimitedPolicy:
        return _measured(augmented, augmented.solve(price / mdp.effective_horizon))

    return find_curve(solve, _measured(augmented, first), max_vertices, tolerance)


def _measured(augmented: AugmentedMDP, action: np.ndarray) -> LimitedPolicy:
    counted = np.stack([augmented.reward(action), augmented.switches(action)], -1)
    return_, switches = augmented.expected(action, counted).tolist()
    switch_rate = switches / augmented.mdp.effective_horizon
    oscillation = augmented.oscillation_ratio(action) if augmented.mdp.horizon else switch_rate
    return LimitedPolicy(augmented.bucket, action, return_, switch_rate, oscillation)
