"""A small MDP whose best trade-off between reward and switching is known exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np

N_STATES, N_ACTIONS, GAMMA = 6, 3, 0.9
GOOD = np.array([0, 1, 2, 0, 1, 2])  # the action that pays in each state ...
PAY = np.array([1.0, 0.8, 0.6, 0.4, 0.25, 0.1])  # ... and what it pays
NEXT = np.full((N_STATES, N_ACTIONS, N_STATES), 0.5 / N_STATES)
for _s in range(N_STATES):
    for _a in range(N_ACTIONS):  # an action has consequences: it moves along the ring, or stays
        NEXT[_s, _a, (_s + _a) % N_STATES] += 0.5

REWARD = np.zeros((N_STATES, N_ACTIONS))
REWARD[np.arange(N_STATES), GOOD] = PAY


QUICK: dict[str, Any] = {
    "steps": 12_000,
    "envs": 16,
    "gamma": GAMMA,
    "learning_starts": 200,
    "learning_rate": 2e-3,
    "target_rate": 0.01,
    "train_interval": 1,
    "core": {
        "learning_rate": 1e-3,
        "target_period": 50,
        "epsilon_decay": 1e-3,
        "epsilon_final": 0.2,
        "train_interval": 1,
    },
    "eval_every": 12_000,
    "eval_episodes": 1,
    "final_episodes": 1,
}
"""Settings with which a controller around DQN learns the MDP in seconds."""


class Lights(gym.Env):
    """The MDP as an env, cut after 50 steps by a time limit."""

    observation_space: gym.Space = gym.spaces.Box(0, 1, (N_STATES,), np.float32)
    action_space: gym.Space = gym.spaces.Discrete(N_ACTIONS)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.s, self.t = int(self.np_random.integers(N_STATES)), 0
        return OBS[self.s], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        reward = float(REWARD[self.s, action])
        self.s = int(self.np_random.choice(N_STATES, p=NEXT[self.s, action]))
        self.t += 1
        return OBS[self.s], reward, False, self.t >= 50, {}


OBS = np.eye(N_STATES, dtype=np.float32)
ENDS = 0.02


class EndingLights(gym.Env):
    """The MDP that ends with probability ENDS a step, after one last state that is seen.

    There every action earns `coin` or `-coin`, by chance. With the discount GAMMA / (1 - ENDS) the
    values of all other states are those of the MDP without an end. All rewards are multiplied by
    `factor`.
    """

    observation_space: gym.Space = gym.spaces.Box(0, 1, (N_STATES + 1,), np.float32)
    action_space: gym.Space = gym.spaces.Discrete(N_ACTIONS)

    def __init__(self, coin: float = 0.0, factor: float = 1.0) -> None:
        self.coin, self.factor = coin, factor

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.s = int(self.np_random.integers(N_STATES))
        return ENDING_OBS[self.s], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        if self.s == N_STATES:
            reward = self.coin if self.np_random.random() < 0.5 else -self.coin
            return ENDING_OBS[self.s], self.factor * reward, True, False, {}
        reward = float(REWARD[self.s, action])
        self.s = int(self.np_random.choice(N_STATES, p=NEXT[self.s, action]))
        if self.np_random.random() < ENDS:
            self.s = N_STATES
        return ENDING_OBS[self.s], self.factor * reward, False, False, {}


ENDING_OBS = np.eye(N_STATES + 1, dtype=np.float32)


def solve(price: float, allowed: np.ndarray | None = None) -> np.ndarray:
    """Q*(s, a_prev, a) of the reward minus the price at each switch, by value iteration.

    `allowed[s, a_prev, a]` restricts the actions.
    """
    cost = price * (1 - np.eye(N_ACTIONS))  # a_prev, a
    q = np.zeros((N_STATES, N_ACTIONS, N_ACTIONS))
    for _ in range(500):
        v = (q if allowed is None else np.where(allowed, q, -np.inf)).max(-1)  # s, a_prev
        q = REWARD[:, None, :] - cost + GAMMA * np.einsum("sat,ta->sa", NEXT, v)[:, None, :]
    return q if allowed is None else np.where(allowed, q, -np.inf)


def value(policy: np.ndarray, price: float) -> float:
    """Exact mean over (s, a_prev) of the priced value of a deterministic policy[s, a_prev]."""
    s, p = np.divmod(np.arange(N_STATES * N_ACTIONS), N_ACTIONS)
    a = policy[s, p]
    step = np.zeros((len(s), len(s)))
    for i in range(len(s)):
        step[i, np.arange(N_STATES) * N_ACTIONS + a[i]] = NEXT[s[i], a[i]]
    reward = REWARD[s, a] - price * (a != p)
    return float(np.linalg.solve(np.eye(len(s)) - GAMMA * step, reward).mean())


def switching(policy: np.ndarray) -> float:
    """The exact share of switches of a deterministic policy[s, a_prev] in the long run."""
    s, p = np.divmod(np.arange(N_STATES * N_ACTIONS), N_ACTIONS)
    a = policy[s, p]
    where = np.full(len(s), 1 / len(s))
    for _ in range(2_000):
        new = np.zeros_like(where)
        for i in range(len(s)):
            new[np.arange(N_STATES) * N_ACTIONS + a[i]] += where[i] * NEXT[s[i], a[i]]
        where = (where + new) / 2  # averaged, so that a periodic chain converges too
    return float(where @ (a != p))


ONE = 1 - np.eye(N_ACTIONS, dtype=int)
"""Every switch takes one token."""


def token_levels(rate: Fraction, burst: Fraction, costs: np.ndarray = ONE) -> list[Fraction]:
    """Every level of tokens that can follow a full bucket, from the lowest on."""
    levels, new = {burst}, {burst}
    while new:
        taken = set(costs.ravel().tolist())
        steps = {min(burst, t - cost + rate) for t in new for cost in taken if t >= cost}
        new = steps - levels
        levels |= new
    return sorted(levels)


def solve_within(rate: Fraction, burst: Fraction, costs: np.ndarray = ONE) -> np.ndarray:
    """Q*(s, a_prev, level, a) within a limit, by value iteration; -inf where there is no token."""
    levels = token_levels(rate, burst, costs)
    q = np.zeros((N_STATES, N_ACTIONS, len(levels), N_ACTIONS))
    for _ in range(300):
        v = q.max(-1)  # s, a_prev, level
        new = np.full_like(q, -np.inf)
        for a_prev in range(N_ACTIONS):
            for k, tokens in enumerate(levels):
                for a in range(N_ACTIONS):
                    cost = int(costs[a_prev, a])
                    if tokens >= cost:
                        left = levels.index(min(burst, tokens - cost + rate))
                        new[:, a_prev, k, a] = REWARD[:, a] + GAMMA * NEXT[:, a] @ v[:, a, left]
        q = new
    return q


def value_within(
    policy: np.ndarray, rate: Fraction, burst: Fraction, costs: np.ndarray = ONE
) -> float:
    """Exact mean over (s, a_prev), with a full bucket, of a policy[s, a_prev, level].

    A policy that switches without a token is an error.
    """
    levels = token_levels(rate, burst, costs)
    shape = (N_STATES, N_ACTIONS, len(levels))
    step, reward = np.zeros((policy.size, policy.size)), np.zeros(policy.size)
    for i, (s, a_prev, k) in enumerate(np.ndindex(shape)):
        a = policy[s, a_prev, k]
        cost = int(costs[a_prev, a])
        assert levels[k] >= cost
        left = levels.index(min(burst, levels[k] - cost + rate))
        reward[i] = REWARD[s, a]
        for following in range(N_STATES):
            place = np.ravel_multi_index((following, a, left), shape)
            step[i, place] += NEXT[s, a, following]
    values = np.linalg.solve(np.eye(policy.size) - GAMMA * step, reward).reshape(shape)
    return float(values[:, :, -1].mean())
