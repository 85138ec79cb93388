"""Spaces whose encoded observations carry a frozen core's output behind them.

The core is called once, when the env returns an observation. Its log-probabilities and scores are
appended to the encoded observation and stored with it in the replay buffer, so that learning never
calls the core again.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.networks import layers as network
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core, load_core
from policy_inertia.policies.probing import OutputKind
from policy_inertia.types import Array


@dataclass(frozen=True)
class SpacesWithCore(Spaces):
    """An env's spaces; encoded observations end in the core's log-probabilities and scores.

    The networks do not see these numbers: Q-values and logarithms of 0 have no common scale, and
    both are functions of the observation, which the networks do see.
    """

    core: Core = field(kw_only=True, compare=False)

    @classmethod
    def of_core(cls, core: Core, scaling: Scaling | None = None) -> SpacesWithCore:
        """The spaces of a core's env; `scaling` is what the controller's networks see."""
        return cls(**{**_fields(core.spaces), "scaling": scaling}, core=core)

    @property
    def without_core(self) -> Spaces:
        """The env's own spaces."""
        return Spaces(**_fields(self))

    @property
    def spec(self) -> Spec:
        own, outputs = super().spec, self._core_outputs
        return own._replace(obs_dim=own.obs_dim + outputs, core_outputs=outputs)

    @property
    def _core_outputs(self) -> int:
        """A log-probability and a score for each action."""
        return 2 * self.actions.width

    @property
    def dtype(self) -> Any:
        return np.float32  # for pixels too: the core's numbers behind them are no bytes

    def encode(self, obs: Array) -> np.ndarray:
        acting = self.core.acting(obs)
        parts = (super().encode(obs), acting.policy.log_pi, acting.scores)
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def encode_for_networks(self, obs: Array) -> np.ndarray:
        """Encode without calling the core: zeros stand for its outputs."""
        own = super().encode(obs)
        return np.concatenate([own, np.zeros((len(own), self._core_outputs), np.float32)], axis=1)

    def decode(self, vectors: np.ndarray) -> np.ndarray:
        return super().decode(vectors[:, : -self._core_outputs])


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

    def __post_init__(self) -> None:
        if self.layers and self.kind not in ("logits", "q"):
            raise InputError(f"the core's kind is '{self.kind}': expected 'logits' or 'q'")


def store_core(core: Core) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The core as arrays and JSON for a policy file; without layers if its network is unknown."""
    arrays, layers = network.store(core.layers or ())
    return arrays, {
        "name": core.name,
        "kind": core.kind,
        "temperature": core.temperature,
        "layers": layers,
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
        return SpacesWithCore.of_core(stored_core, spaces.scaling)
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
    return SpacesWithCore.of_core(core, spaces.scaling)


def _stored_core(spaces: Spaces, arrays: dict[str, np.ndarray], stored: StoredCore) -> Core:
    if not stored.layers:
        raise InputError(
            f"it was trained around {stored.name}, which a file cannot hold: give it again, as "
            "Policy.load(path, core=...), or with --core"
        )
    layers = network.restore(arrays, stored.layers)
    outputs = network.output_shape(layers, spaces.obs_shape)
    if outputs != (spaces.actions.width,):
        raise InputError(
            f"the core's network has outputs of shape {list(outputs)}: expected one for each of "
            f"the {spaces.actions.width} actions"
        )
    return Core.from_layers(stored.name, spaces, stored.kind, layers, stored.temperature)
