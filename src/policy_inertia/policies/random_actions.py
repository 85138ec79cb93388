"""The policy that every other one must beat: random actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.masks import sample_allowed
from policy_inertia.actions.space import ActionSpace


class RandomActions:
    """Takes every action with the same probability, whatever it sees.

    Args:
        actions: The actions.
        masked: Whether it chooses among the actions that the env allows.
    """

    def __init__(self, actions: ActionSpace, masked: bool = False) -> None:
        self.actions, self.masked = actions, masked
        self._rng = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Make the actions from now on reproducible."""
        self._rng = np.random.default_rng(seed)

    def predict(
        self, observation: np.ndarray, *_: Any, action_masks: Any = None
    ) -> tuple[np.ndarray, None]:
        """Draw an action for each observation of a batch."""
        if action_masks is not None:
            return self.actions.to_env(sample_allowed(self._rng, action_masks, self.actions)), None
        return self.actions.to_env(self.actions.sample(self._rng, len(observation))), None
