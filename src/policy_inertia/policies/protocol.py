"""What everything that acts has in common: Stable-Baselines3's recurrent convention."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Predictor(Protocol):
    """Anything that acts as Stable-Baselines3's policies do."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """Choose actions for a batch of observations; pass the returned state to the next call."""
