"""Whole episodes with a policy, and with a copy of it in another language beside it."""

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs import highway  # noqa: F401 - registers the tasks

CARTPOLE, TWO_WAY = "CartPole-v1", "policy_inertia/TwoWay-v0"


def episodes(
    policy: Any, env: Any, n: int, deterministic: bool = True
) -> Iterator[tuple[np.ndarray, bool, int, dict[str, np.ndarray]]]:
    """Run `n` whole episodes; give each step's observation, start, action and state after it."""
    env = gym.make(env) if isinstance(env, str) else env
    state = None
    for seed in range(n):
        obs, _ = env.reset(seed=seed)
        starts, done = True, False
        while not done:
            action, state = policy.predict(obs, state, np.array([starts]), deterministic)
            yield obs, starts, int(action), state
            obs, _, terminated, truncated, _ = env.step(action)
            starts, done = False, terminated or truncated
    env.close()


def compare(
    policy: Any,
    env: Any,
    n: int,
    act: Callable[[np.ndarray], int],
    reset: Callable[[], None],
    memory: Callable[[str], int],
) -> list[int]:
    """Let a copy act beside its policy in `n` episodes; return the actions.

    Every action is the same, and so is all memory after every step.
    """
    actions: list[int] = []
    for obs, starts, action, state in episodes(policy, env, n):
        if starts and actions:
            reset()
        assert act(obs) == action, f"step {len(actions)}"
        for name, value in state.items():
            assert memory(name) == value[0], f"{name} after step {len(actions)}"
        actions.append(action)
    return actions
