"""From an agent's decisions to an env's steps: repetition and the penalty of a switch.

Both are data (`repeats`, `penalty`). With `repeats=(1,)` and `penalty=0` every step is a decision.
"""

from __future__ import annotations

import numpy as np

from policy_inertia.actions.discrete import split_choice
from policy_inertia.actions.space import ActionSpace, select
from policy_inertia.types import Array, Transition


class Decisions:
    """Turns the primitive steps of N envs into transitions between decisions.

    A decision held for k steps is one transition with reward sum_i gamma^i r_i and discount
    gamma^k; a decision that the episode's end cuts short has fewer steps. The penalty, times the
    distance from the previous action, is subtracted from the reward of each primitive step. The
    distance is 1 for a switch of a Discrete action, and a share of the range for Box.
    """

    def __init__(
        self,
        obs: np.ndarray,
        actions: ActionSpace,
        gamma: float,
        repeats: tuple[int, ...] = (1,),
        penalty: float = 0.0,
    ) -> None:
        n = len(obs)
        self.actions, self.gamma, self.repeats, self.penalty = actions, gamma, repeats, penalty
        self.prev_choice = actions.null(n)  # of the previous decision
        self.prev_action = actions.null(n)  # of the previous primitive step
        self.choice = actions.null(n)
        self.remaining = np.zeros(n, np.int64)  # steps for which the action is still held
        self.reward = np.zeros(n)
        self.discount = np.ones(n)
        self.over = np.zeros(n, bool)  # whether the last step ended a decision
        self.obs = np.zeros_like(obs)

    @property
    def owners(self) -> np.ndarray:
        """The env of each transition that `end` returned last."""
        return np.flatnonzero(self.over)

    def begin(self, choice: np.ndarray, obs: np.ndarray) -> np.ndarray:
        """Start a decision wherever the last one is over; return the primitive actions."""
        idle = self.remaining == 0
        action, hold = choice, np.ones(len(choice), np.int64)
        if self.repeats != (1,):
            action, hold = split_choice(choice, self.repeats)
        self.choice = select(idle, choice, self.choice)
        self.remaining = np.where(idle, hold, self.remaining)
        self.reward[idle] = 0
        self.discount[idle] = 1
        self.obs[idle] = obs[idle]
        return select(idle, action, self.prev_action)

    def charged(self, action: np.ndarray, reward: np.ndarray) -> np.ndarray:
        """The rewards of a primitive step without the penalty of its switches or its movement."""
        if not self.penalty:
            return reward
        known = ~self.actions.is_null(self.prev_action)
        moved = self.actions.distance(action, self.prev_action).astype(float)
        return np.asarray(reward - self.penalty * (moved * known))

    def end(
        self,
        action: np.ndarray,
        next_obs: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
    ) -> Transition:
        """Add one primitive step; return the transitions of the decisions that it ended."""
        self.reward += self.discount * self.charged(action, reward)
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
        null = self.actions.null(len(done))
        self.remaining[done] = 0
        next_choice = select(done, null, self.choice)
        self.prev_choice = select(over, next_choice, self.prev_choice)
        self.prev_action = select(done, null, action)
        return transitions

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to continue, as named arrays."""
        return {k: v.copy() for k, v in vars(self).items() if isinstance(v, np.ndarray)}

    def fits(self, state: dict[str, np.ndarray], env_actions: ActionSpace) -> bool:
        """Return whether arrays of the right shapes and types hold possible values.

        Args:
            state: The arrays.
            env_actions: The primitive actions.
        """
        remaining = state["remaining"]
        rules: list[Array] = [(remaining >= 0) & (remaining <= max(self.repeats))]
        for name, space in (
            ("choice", self.actions),
            ("prev_choice", self.actions),
            ("prev_action", env_actions),
        ):
            null = space.is_null(state[name])
            if name != "prev_choice":
                null &= remaining == 0  # an action that is held exists
            rules.append(space.contains(state[name]) | null)
        return bool(np.all(rules))

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Return to a saved `state` that `fits`."""
        for name, value in state.items():
            setattr(self, name, value.copy())
