"""The Highway simulator's Two-Way task as a small MDP, estimated from sampled steps.

Observations are put into bins, and transitions between bins are counted. The resulting arrays are
an estimate of the task. They are an exact MDP of their own, so results on them are exact.
"""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway import TrafficVectorEnv
from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP

SPEEDS = np.array([22.5, 27.5])  # edges between the ego's target speeds, 20, 25 and 30 m/s
AHEAD = np.array([10.0, 20.0, 40.0, 80.0])  # edges of the gap to the next car in our lane, m
ONCOMING = np.array([40.0, 80.0, 130.0])  # edges of the gap to the next oncoming car, m
BINS = (2, len(SPEEDS) + 1, len(AHEAD) + 1, len(ONCOMING) + 1)
_MIDDLE = 2.0  # y between the lanes: our lane is at 4 m, the oncoming lane at 0


def state_index(observations: np.ndarray) -> np.ndarray:
    """Put observations into bins.

    Args:
        observations: (n, vehicles, [presence, x, y, vx, vy]) in metres, relative to the ego.

    Returns:
        The index of each observation's state, (n,).
    """
    ego, others = observations[:, 0], observations[:, 1:]
    own_lane = others[..., 2] + ego[:, None, 2] > _MIDDLE
    ahead = (others[..., 0] > 0) & (others[..., 1] > 0)
    gaps = [np.where(ahead & lane, others[..., 1], np.inf).min(1) for lane in (own_lane, ~own_lane)]
    digits = (
        (ego[:, 2] > _MIDDLE).astype(int),
        np.digitize(ego[:, 3], SPEEDS),
        np.digitize(gaps[0], AHEAD),
        np.digitize(gaps[1], ONCOMING),
    )
    return np.ravel_multi_index(digits, BINS)


def two_way(
    steps: int = 2_000,
    envs: int = 100,
    seed: int = 0,
    gamma: float = 0.95,
    stick: float = 0.7,
    scenario: str = "dense",
) -> MDP:
    """Estimate the MDP of Two-Way from sticky random actions.

    A crash ends an episode of the MDP; the task's time limit does not.

    Args:
        steps: Steps of each env.
        envs: Number of envs.
        seed: Seed of the envs and of the actions.
        gamma: Discount factor of the MDP.
        stick: Probability of keeping the previous action.
        scenario: Scenario of the task.

    Returns:
        The MDP over the bins that were visited. An action that was never tried in a state is
        assumed to act like the mean of the actions that were tried there.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}: it must be at least 1")
    config = {"scenario": scenario, "observation": {"normalize": False, "absolute": False}}
    env = TrafficVectorEnv(envs, "TwoWay", config)
    rng = np.random.default_rng(seed)
    S, A = int(np.prod(BINS)), int(env.single_action_space.n)  # type: ignore[attr-defined]
    transitions, ends, rewards = np.zeros((S, A, S)), np.zeros((S, A)), np.zeros((S, A))
    starts = np.zeros(S)
    state = state_index(env.reset(seed=seed)[0])
    np.add.at(starts, state, 1)
    action = rng.integers(A, size=envs)
    for _ in range(steps):
        action = np.where(rng.random(envs) < stick, action, rng.integers(A, size=envs))
        observations, reward, terminated, truncated, _ = env.step(action)
        successor = state_index(observations)
        np.add.at(transitions, (state, action, successor), ~terminated)
        np.add.at(ends, (state, action), terminated)
        np.add.at(rewards, (state, action), reward)
        over = terminated | truncated
        if over.any():
            first = state_index(env.reset(options={"reset_mask": over})[0])
            successor = np.where(over, first, successor)
            np.add.at(starts, successor[over], 1)
        state = successor
    return mdp_from_counts(transitions, ends, rewards, starts, gamma)


def mdp_from_counts(
    transitions: np.ndarray,
    ends: np.ndarray,
    rewards: np.ndarray,
    starts: np.ndarray,
    gamma: float,
) -> MDP:
    """Turn counts into an MDP over the states in which at least one action was tried.

    Args:
        transitions: How often (s, a) led to s', (S, A, S).
        ends: How often (s, a) ended an episode, (S, A).
        rewards: Sum of the rewards after (s, a), (S, A).
        starts: How often an episode started in s, (S,).
        gamma: Discount factor.

    Returns:
        The MDP. An action that was never tried in a state gets the mean of the tried ones.
    """
    tries = transitions.sum(-1) + ends
    used = tries.any(-1)
    while True:  # the last state of a run may have no tries, so transitions to it are dropped
        tries = transitions[..., used].sum(-1) + ends
        if (tries.any(-1) >= used).all():
            break
        used &= tries.any(-1)
    transitions = transitions[used][..., used]
    ends, rewards, tries = ends[used], rewards[used], tries[used]
    divisor = np.maximum(tries, 1)
    share = tries / tries.sum(-1, keepdims=True)
    P, end_rate, R = transitions / divisor[..., None], ends / divisor, rewards / divisor
    never = tries == 0
    states = never.nonzero()[0]
    P[never] = np.einsum("sa,sat->st", share, P)[states]
    end_rate[never] = (share * end_rate).sum(-1)[states]
    R[never] = (share * R).sum(-1)[states]
    rho = starts[used] / starts[used].sum()
    return MDP(P, R, gamma, None, rho, end_rate, name="Two-Way")
