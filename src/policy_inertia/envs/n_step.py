"""n-step returns: each transition is joined with those that follow it in its episode."""

from __future__ import annotations

import numpy as np

from policy_inertia.actions.space import ActionSpace
from policy_inertia.types import Transition


class NStep:
    """Holds the last n steps of N envs until their n-step returns are known.

    A transition that leaves has reward sum_i gamma^i r_i over n steps, discount gamma^n and the
    observation after them. The end of an episode cuts it short.
    """

    def __init__(self, steps: int, envs: int, obs_dim: int, actions: ActionSpace) -> None:
        null = np.stack([actions.null(envs)] * steps)
        # the first axis is the age: row k is of k steps ago
        self.obs = np.zeros((steps, envs, obs_dim), np.float32)
        self.prev_action, self.action = null, null.copy()
        self.reward = np.zeros((steps, envs))
        self.discount = np.zeros((steps, envs))
        self.waiting = np.zeros((steps, envs), bool)

    def join(self, step: Transition, done: np.ndarray) -> tuple[Transition, np.ndarray]:
        """Add one step of every env; return the transitions that are complete, and their envs."""
        for rows in vars(self).values():
            rows[1:] = rows[:-1]
        self.obs[0], self.prev_action[0], self.action[0] = step.obs, step.prev_action, step.action
        self.reward[0], self.discount[0], self.waiting[0] = 0, 1, True
        self.reward += self.discount * step.reward
        self.discount *= step.discount
        complete = self.waiting & done
        complete[-1] |= self.waiting[-1]
        self.waiting &= ~complete
        envs, ages = np.nonzero(complete.T[:, ::-1])  # env by env, the oldest first
        ages = len(complete) - 1 - ages
        rows = ages, envs
        return (
            Transition(
                self.obs[rows],
                self.prev_action[rows],
                self.action[rows],
                self.reward[rows],
                self.discount[rows],
                step.next_obs[envs],
            ),
            envs,
        )

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to continue, as named arrays."""
        return {name: rows.copy() for name, rows in vars(self).items()}

    def fits(self, state: dict[str, np.ndarray], actions: ActionSpace) -> bool:
        """Return whether arrays of the right shapes and types hold possible values."""
        taken, before = state["action"], state["prev_action"]
        possible = actions.contains(taken) & (actions.contains(before) | actions.is_null(before))
        return bool(np.all(possible | ~state["waiting"]))

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Return to a saved `state` that `fits`."""
        for name, rows in state.items():
            setattr(self, name, rows.copy())
