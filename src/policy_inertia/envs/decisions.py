"""What lies between an agent's decisions and an env's steps: repetition and the switch penalty.

Both are data (`repeats`, `penalty`); with `repeats=(1,)` and `penalty=0` every step is a decision.
"""

from __future__ import annotations

import numpy as np

from policy_inertia.types import Transition


def split(choice: np.ndarray, repeats: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A choice from A x repeats as (action, number of steps to hold it)."""
    return choice // len(repeats), np.asarray(repeats)[choice % len(repeats)]


class Decisions:
    """Turns N envs' primitive steps into transitions between decisions.

    A decision held for k steps is one transition with reward sum_i gamma^i r_i and discount
    gamma^k; one cut short by the episode's end has fewer steps. The penalty is taken from the
    reward of each primitive step whose action differs from the one before it in its episode.
    """

    def __init__(
        self,
        obs: np.ndarray,
        gamma: float,
        repeats: tuple[int, ...] = (1,),
        penalty: float = 0.0,
    ) -> None:
        n = len(obs)
        self.gamma, self.repeats, self.penalty = gamma, repeats, penalty
        self.prev_choice = np.full(n, -1)  # of the decision before this one
        self.prev_action = np.full(n, -1)  # of the primitive step before this one
        self.choice = np.zeros(n, np.int64)
        self.remaining = np.zeros(n, np.int64)
        self.reward = np.zeros(n)
        self.discount = np.ones(n)
        self.over = np.zeros(n, bool)  # whether the last step ended a decision
        self.obs = np.zeros_like(obs)

    def begin(self, choice: np.ndarray, obs: np.ndarray) -> np.ndarray:
        """Take up `choice` wherever the last decision is over; the primitive actions to take."""
        idle = self.remaining == 0
        action, hold = split(choice, self.repeats)
        self.choice = np.where(idle, choice, self.choice)
        self.remaining = np.where(idle, hold, self.remaining)
        self.reward[idle] = 0
        self.discount[idle] = 1
        self.obs[idle] = obs[idle]
        return np.where(idle, action, self.prev_action)

    def end(
        self,
        action: np.ndarray,
        next_obs: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
    ) -> Transition:
        """Account for one primitive step; the transitions of the decisions that it ended."""
        if self.penalty:
            switched = (self.prev_action >= 0) & (action != self.prev_action)
            reward = reward - self.penalty * switched
        self.reward += self.discount * reward
        self.discount *= self.gamma
        self.remaining -= 1
        done = terminated | truncated
        self.over = over = (self.remaining == 0) | done
        transitions = Transition(
            obs=self.obs[over],
            prev_action=self.prev_choice[over],
            action=self.choice[over],
            reward=self.reward[over],
            discount=(self.discount * ~terminated)[over],
            next_obs=next_obs[over],
        )
        self.remaining[done] = 0
        self.prev_choice = np.where(over, np.where(done, -1, self.choice), self.prev_choice)
        self.prev_action = np.where(done, -1, action)
        return transitions

    def state(self) -> dict[str, np.ndarray]:
        return {k: v.copy() for k, v in vars(self).items() if isinstance(v, np.ndarray)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        for name, value in state.items():
            setattr(self, name, value.copy())
