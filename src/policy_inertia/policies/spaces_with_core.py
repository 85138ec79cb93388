"""Spaces whose encoded observations carry a frozen core's output behind them.

The core is called once, when the env returns an observation. Its log-probabilities and scores are
appended to the encoded observation and stored with it in the replay buffer, so that learning never
calls the core again. Networks see how much the core prefers its best action to every other one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.actions.per_head import per_head
from policy_inertia.algorithms.frozen import BoxFrozenConfig, FrozenConfig
from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_features import feature_count
from policy_inertia.policies.cores import Core
from policy_inertia.types import Array

FEATURE_SCALING = ("feature_center", "feature_deviation")
"""The names of the arrays of the features' scale in a checkpoint."""


@dataclass(frozen=True)
class SpacesWithCore(Spaces):
    """An env's spaces; encoded observations end in the core's log-probabilities and scores.

    The networks do not see these numbers: Q-values and logarithms of 0 have no common scale. They
    see `preferences` before them, once the scale of the scores is measured.

    Around pixels, and around a core that remembers, the networks see the core's features instead of
    the observation: they need no convolutions, and know what the core knows.
    """

    core: Core = field(kw_only=True, compare=False)
    unit: float = field(kw_only=True, default=0.0)
    """What the best score is typically better than the second; 0 where it was not measured."""
    features: int = field(kw_only=True, default=0)
    """How many features of the core the networks see instead of the observation; 0 for none."""
    feature_scaling: Scaling | None = field(kw_only=True, default=None)
    """What is done to the features before any network sees them."""

    @classmethod
    def of_core(cls, core: Core, unit: float = 0.0) -> SpacesWithCore:
        """The spaces of a core's env; `unit` is for the controller's networks."""
        hidden = core.spaces.pixels or core.remembered
        features = feature_count(core.layers, core.spaces.obs_shape) if hidden else 0
        return cls(**own_fields(core.spaces), core=core, unit=unit, features=features)

    @property
    def without_core(self) -> Spaces:
        """The env's own spaces."""
        return Spaces(**own_fields(self))

    @property
    def masked(self) -> bool:
        return self.core.masked

    @property
    def spec(self) -> Spec:
        own = super().spec
        if self.features:
            own = Spec(self.features, self.actions)
        outputs = 2 * self.actions.width  # a log-probability and a score for each action
        return own._replace(
            obs_dim=own.obs_dim + self._appended, core_outputs=outputs, masked=self.masked
        )

    @property
    def _appended(self) -> int:
        """How many numbers follow the env's own."""
        return (3 if self.unit else 2) * self.actions.width

    @property
    def dtype(self) -> Any:
        return np.float32  # for pixels too: the core's numbers behind them are no bytes

    def encode(self, obs: Array, masks: np.ndarray | None = None) -> np.ndarray:
        return self.encode_with(obs, {}, masks)[0]

    @property
    def remembered(self) -> dict[str, tuple[int, ...]]:
        return self.core.remembered

    def encode_with(
        self, obs: Array, memory: Mapping[str, np.ndarray], masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        after: dict[str, np.ndarray] = {}
        if self.features:
            acting, own, after = self.core.consult(obs, memory, masks)
            own = own.astype(np.float32)  # a copy
            own = own if self.feature_scaling is None else self.feature_scaling.apply(own)
        else:
            acting, own = self.core.acting(obs, masks), super().encode(obs)
        seen = []
        if self.unit:
            part = partial(preferences, unit=self.unit)
            seen = [per_head(part, np.asarray(acting.scores), self.actions)]
        parts = (own, *seen, acting.policy.log_pi, acting.scores)
        return np.concatenate(parts, axis=1, dtype=np.float32), after

    def encode_for_networks(self, obs: Array, masks: np.ndarray | None = None) -> np.ndarray:
        """Encode without calling the core if its networks do not see it: zeros stand for it."""
        if self.unit or self.features:
            return self.encode(obs, masks)
        own = super().encode(obs)
        return np.concatenate([own, np.zeros((len(own), self._appended), np.float32)], axis=1)

    @property
    def network_scaling(self) -> Scaling | None:
        return self.feature_scaling if self.features else self.scaling

    def with_scaling(self, scaling: Scaling) -> SpacesWithCore:
        if not self.features:
            return dataclasses.replace(self, scaling=scaling)
        return dataclasses.replace(self, feature_scaling=scaling)

    def measured(self, vectors: np.ndarray) -> SpacesWithCore:
        """The same spaces with the core's typical gap between its two best scores."""
        if self.actions.width < 2:
            return self
        if self.features:
            scores = vectors[:, -self.actions.width :]
        else:
            obs = self.without_core.decode(vectors).astype(self.core.space.dtype)
            scores = np.asarray(self.core.acting(obs).scores)
        actions: Any = self.actions
        gaps = np.concatenate([_gaps(scores[:, part]) for part in actions.parts])
        gaps = gaps[gaps > 0]
        unit = np.float32(np.median(gaps)) if len(gaps) else 0.0
        return dataclasses.replace(self, unit=float(unit))

    def to_arrays(self) -> dict[str, np.ndarray]:
        own = super().to_arrays()
        if self.feature_scaling is not None:
            own |= dict(zip(FEATURE_SCALING, self.feature_scaling.arrays, strict=True))
        return {**own, "core_unit": np.array(self.unit)} if self.unit else own

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> SpacesWithCore:
        unit = float(arrays["core_unit"]) if self.unit else 0.0
        scaling = self.feature_scaling
        if scaling is not None:
            scaling = Scaling(*(tuple(arrays[name].tolist()) for name in FEATURE_SCALING))
        same = super().with_arrays(arrays)
        return dataclasses.replace(same, unit=unit, feature_scaling=scaling)

    def decode(self, vectors: np.ndarray) -> np.ndarray:
        assert not self.features, "an observation cannot be computed from the core's features"
        return super().decode(vectors[:, : -self._appended])


def _gaps(scores: np.ndarray) -> np.ndarray:
    """What the best score of each row is better than the second; nothing for a single action."""
    best = np.sort(scores.astype(np.float64), axis=1)
    return best[:, -1] - best[:, -2] if best.shape[1] > 1 else np.empty(0)


def preferences(scores: np.ndarray, unit: float) -> np.ndarray:
    """log(1 + (max scores - scores) / unit): 0 for the core's best action, more for worse ones, and
    -1 for forbidden ones."""
    gaps = np.log1p((scores.max(axis=1, keepdims=True) - scores) / np.float32(unit))
    return np.where(is_forbidden(scores), np.float32(-1), gaps)


def own_fields(spaces: Spaces) -> dict[str, Any]:
    """The env's own spaces as arguments of `Spaces`."""
    return {f.name: getattr(spaces, f.name) for f in dataclasses.fields(Spaces)}


def core_identity(core: Core | ContinuousCore) -> FrozenConfig:
    """The core's name, and a digest of its actions on example observations."""
    kind = BoxFrozenConfig if isinstance(core, ContinuousCore) else FrozenConfig
    return kind(core.name, core.digest)
