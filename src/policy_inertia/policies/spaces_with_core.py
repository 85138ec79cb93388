"""Spaces whose encoded observations carry a frozen core's output behind them.

The core is called once, when the env returns an observation. Its log-probabilities and scores are
appended to the encoded observation and stored with it in the replay buffer, so that learning never
calls the core again. Networks see how much the core prefers its best action to every other one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from policy_inertia.actions.masks import is_forbidden
from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import output_shape
from policy_inertia.networks.stored_layers import restore, store
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core, load_core
from policy_inertia.policies.probing import OutputKind
from policy_inertia.types import Array


@dataclass(frozen=True)
class SpacesWithCore(Spaces):
    """An env's spaces; encoded observations end in the core's log-probabilities and scores.

    The networks do not see these numbers: Q-values and logarithms of 0 have no common scale. They
    see `preferences` before them, once the scale of the scores is measured.
    """

    core: Core = field(kw_only=True, compare=False)
    unit: float = field(kw_only=True, default=0.0)
    """What the best score is typically better than the second; 0 where it was not measured."""

    @classmethod
    def of_core(
        cls, core: Core, scaling: Scaling | None = None, unit: float = 0.0
    ) -> SpacesWithCore:
        """The spaces of a core's env; `scaling` and `unit` are for the controller's networks."""
        return cls(**{**_fields(core.spaces), "scaling": scaling}, core=core, unit=unit)

    @property
    def without_core(self) -> Spaces:
        """The env's own spaces."""
        return Spaces(**_fields(self))

    @property
    def masked(self) -> bool:
        return self.core.masked

    @property
    def spec(self) -> Spec:
        own = super().spec
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
        acting = self.core.acting(obs, masks)
        seen = [preferences(np.asarray(acting.scores), self.unit)] if self.unit else []
        parts = (super().encode(obs), *seen, acting.policy.log_pi, acting.scores)
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def encode_for_networks(self, obs: Array, masks: np.ndarray | None = None) -> np.ndarray:
        """Encode without calling the core if its networks do not see it: zeros stand for it."""
        if self.unit:
            return self.encode(obs, masks)
        own = super().encode(obs)
        return np.concatenate([own, np.zeros((len(own), self._appended), np.float32)], axis=1)

    def measured(self, vectors: np.ndarray) -> SpacesWithCore:
        """The same spaces with the core's typical gap between its two best scores."""
        if self.actions.width < 2:
            return self
        obs = self.without_core.decode(vectors).astype(self.core.space.dtype)
        acting = self.core.acting(obs)
        best = np.sort(np.asarray(acting.scores, np.float64), axis=1)
        gaps = best[:, -1] - best[:, -2]
        gaps = gaps[gaps > 0]
        unit = np.float32(np.median(gaps)) if len(gaps) else 0.0
        return dataclasses.replace(self, unit=float(unit))

    def to_arrays(self) -> dict[str, np.ndarray]:
        own = super().to_arrays()
        return {**own, "core_unit": np.array(self.unit)} if self.unit else own

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> SpacesWithCore:
        unit = float(arrays["core_unit"]) if self.unit else 0.0
        return dataclasses.replace(super().with_arrays(arrays), unit=unit)

    def decode(self, vectors: np.ndarray) -> np.ndarray:
        return super().decode(vectors[:, : -self._appended])


def preferences(scores: np.ndarray, unit: float) -> np.ndarray:
    """log(1 + (max scores - scores) / unit): 0 for the core's best action, more for worse ones, and
    -1 for forbidden ones."""
    gaps = np.log1p((scores.max(axis=1, keepdims=True) - scores) / np.float32(unit))
    return np.where(is_forbidden(scores), np.float32(-1), gaps)


def _fields(spaces: Spaces) -> dict[str, Any]:
    return {f.name: getattr(spaces, f.name) for f in dataclasses.fields(Spaces)}


def core_identity(core: Core | ContinuousCore) -> FrozenConfig:
    """The core's name, and a digest of its actions on example observations."""
    return FrozenConfig(core.name, core.digest)


@dataclass(frozen=True)
class StoredCore:
    """A core in a policy file; without layers if its network is unknown."""

    name: str
    kind: OutputKind
    temperature: float
    layers: list[dict[str, Any]]
    unit: float = 0.0
    masked: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.unit < math.inf:
            raise InputError(f"the core's unit is {self.unit}: expected a number from 0 on")
        if self.layers and self.kind not in ("logits", "q"):
            raise InputError(f"the core's kind is '{self.kind}': expected 'logits' or 'q'")


def store_core(spaces: SpacesWithCore) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The core as arrays and JSON for a policy file; without layers if its network is unknown."""
    core = spaces.core
    arrays, layers = store(core.layers or ())
    return arrays, {
        "name": core.name,
        "kind": core.kind,
        "temperature": core.temperature,
        "layers": layers,
        "unit": spaces.unit,
        "masked": core.masked,
    }


class FileWithCore(Protocol):
    """What `restore_core` asks of the description of a policy file."""

    @property
    def core(self) -> StoredCore | None: ...
    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def task(self) -> str: ...
    @property
    def env_kwargs(self) -> dict[str, Any]: ...


def restore_core(
    spaces: Spaces, arrays: dict[str, np.ndarray], about: FileWithCore, core: Any
) -> SpacesWithCore:
    """The spaces of a policy file, with the core that the file holds or that the user gives.

    Args:
        spaces: The env's own spaces, from the file.
        arrays: All arrays of the file.
        about: The description in the file.
        core: What the user gave as the core, for `load_core`; None to use the one in the file.

    Raises:
        InputError: The file does not hold its core, or the given core is another one.
    """
    stored = about.core
    assert stored is not None
    if core is None:
        stored_core = _stored_core(spaces.unscaled, arrays, stored)
        return SpacesWithCore.of_core(stored_core, spaces.scaling, stored.unit)
    task = about.task if not isinstance(core, Core) else None
    core = load_core(core, task, env_kwargs=about.env_kwargs)
    if core.spaces != spaces.unscaled:
        raise InputError(
            f"{core.name} acts on {core.spaces}, not on {spaces}: give the core that the policy "
            "was trained around"
        )
    config = about.config.get("core", about.config)
    if core_identity(core).digest != config["digest"]:
        raise InputError(
            f"it was trained around {stored.name}, and {core.name} acts differently: give exactly "
            "the same core"
        )
    return SpacesWithCore.of_core(core, spaces.scaling, stored.unit)


def _stored_core(spaces: Spaces, arrays: dict[str, np.ndarray], stored: StoredCore) -> Core:
    if not stored.layers:
        raise InputError(
            f"it was trained around {stored.name}, which a file cannot hold: give it again, as "
            "Policy.load(path, core=...), or with --core"
        )
    layers = restore(arrays, stored.layers)
    outputs = output_shape(layers, spaces.obs_shape)
    if outputs != (spaces.actions.width,):
        raise InputError(
            f"the core's network has outputs of shape {list(outputs)}: expected one for each of "
            f"the {spaces.actions.width} actions"
        )
    return Core.from_layers(
        stored.name, spaces, stored.kind, layers, stored.temperature, masked=stored.masked
    )
