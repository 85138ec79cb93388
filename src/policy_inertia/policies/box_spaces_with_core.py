"""Spaces with Box actions whose encoded observations carry a frozen core's action behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policy_inertia.algorithms.frozen import split_action
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.spaces_with_core import SpacesWithCore, own_fields
from policy_inertia.types import Array


@dataclass(frozen=True)
class BoxSpacesWithCore(SpacesWithCore):
    """An env's spaces; encoded observations end in the core's action, as `split_action` writes it.

    The action is exact, so that a controller can be the core itself. A controller gives it to its
    networks beside the observation.
    """

    core: ContinuousCore = field(kw_only=True, compare=False)  # type: ignore[assignment]

    @classmethod
    def of_core(cls, core: Any, unit: float = 0.0) -> BoxSpacesWithCore:
        return cls(**own_fields(core.spaces), core=core)

    @property
    def masked(self) -> bool:
        return False

    @property
    def remembered(self) -> dict[str, tuple[int, ...]]:
        return {}

    @property
    def spec(self) -> Spec:
        own = self.without_core.spec
        return own._replace(obs_dim=own.obs_dim + self._appended, core_outputs=self._appended)

    @property
    def _appended(self) -> int:
        return 2 * self.actions.shape[0]

    def encode_with(
        self, obs: Array, memory: Mapping[str, np.ndarray], masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        parts = (Spaces.encode(self, obs), split_action(self.core.output(np.asarray(obs))))
        return np.concatenate(parts, axis=1, dtype=np.float32), {}

    def measured(self, vectors: np.ndarray) -> BoxSpacesWithCore:
        return self  # actions need no unit
