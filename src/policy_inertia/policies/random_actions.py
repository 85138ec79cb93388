"""The policy that every other one must beat: random actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.space import ActionSpace


class RandomActions:
    """Takes every action with the same probability, whatever it sees."""

    def __init__(self, actions: ActionSpace) -> None:
        self.actions = actions
        self._rng = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Make the actions from now on reproducible."""
        self._rng = np.random.default_rng(seed)

    def predict(self, observation: np.ndarray, *_: Any, **__: Any) -> tuple[np.ndarray, None]:
        """Draw an action for each observation of a batch."""
        return self.actions.to_env(self.actions.sample(self._rng, len(observation))), None
