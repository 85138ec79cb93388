"""Several heads as one list of actions: every combination is an action of its own."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.errors import InputError

MOST_COMBINATIONS = 1_024


class JointActions(gym.ActionWrapper):
    """An env with MultiDiscrete or MultiBinary actions whose actions are a list of combinations.

    Args:
        env: The env to wrap.

    Raises:
        InputError: Its actions have no heads, or there are too many combinations.
    """

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        heads = MultiDiscrete.from_gym(env.action_space)
        if heads is None:
            raise InputError(f"the actions are {env.action_space}: joint actions are for heads")
        self.heads = heads
        self.action_space = gym.spaces.Discrete(len(combinations(heads)))

    def action(self, action: Any) -> np.ndarray:
        """The action of each head, as the env counts it."""
        return np.asarray(self.heads.to_env(combinations(self.heads)[int(action)]))


def combinations(heads: MultiDiscrete) -> np.ndarray:
    """Every combination of the heads' actions, `(n, heads)`; the last head counts fastest.

    Raises:
        InputError: There are too many.
    """
    n = math.prod(heads.sizes)
    if n > MOST_COMBINATIONS:
        raise InputError(
            f"the heads have {n:,} combinations, of which {MOST_COMBINATIONS:,} can be learned: "
            "smooth this policy with filters and limits, which act on each head"
        )
    return np.stack(np.unravel_index(np.arange(n), heads.sizes), axis=1)


def head_costs(heads: MultiDiscrete, prices: Any = 1.0) -> tuple[float, ...]:
    """The setting `costs` of a dial over the combinations: the price of each head that switches.

    Args:
        heads: The heads.
        prices: What a switch of each head costs; one number is for all.

    Returns:
        A table, row by row.
    """
    rows = combinations(heads)
    differ = rows[:, None] != rows[None]
    return tuple((differ * np.broadcast_to(prices, len(heads.sizes))).sum(-1).ravel().tolist())
