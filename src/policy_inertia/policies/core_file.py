"""The core of a smoothed policy in its file: its network, or its name where that is not known."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from policy_inertia.envs.scaling import Scaling
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import Layers, output_shape
from policy_inertia.networks.stored_layers import restore, store
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_features import feature_count
from policy_inertia.policies.core_loaders import load_core
from policy_inertia.policies.core_outputs import GREEDY
from policy_inertia.policies.cores import Core
from policy_inertia.policies.probing import OutputKind, gym_space
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity


@dataclass(frozen=True)
class StoredCore:
    """A core in a policy file; without layers if its network is unknown."""

    name: str
    kind: OutputKind
    temperature: float
    layers: list[dict[str, Any]]
    unit: float = 0.0
    masked: bool = False
    features: int = 0
    feature_scaling: Scaling | None = None

    def __post_init__(self) -> None:
        numbers = 0 if self.feature_scaling is None else len(self.feature_scaling.center)
        if numbers not in (0, self.features):
            raise InputError(
                f"the core has {self.features} features and the scale of {numbers}: expected one "
                "number for each"
            )
        if not 0 <= self.unit < math.inf:
            raise InputError(f"the core's unit is {self.unit}: expected a number from 0 on")


def store_core(spaces: SpacesWithCore) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The core as arrays and JSON for a policy file; without layers if its network is unknown."""
    core: Any = spaces.core
    arrays, layers = store(core.layers or ())
    return arrays, {
        "name": core.name,
        "kind": core.kind,
        "temperature": core.temperature if isinstance(core, Core) else GREEDY,
        "layers": layers,
        "unit": spaces.unit,
        "masked": spaces.masked,
        **_stored_features(spaces),
    }


def _stored_features(spaces: SpacesWithCore) -> dict[str, Any]:
    if not spaces.features:
        return {}
    scaling = spaces.feature_scaling and dataclasses.asdict(spaces.feature_scaling)
    return {"features": spaces.features, "feature_scaling": scaling}


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
        return _with_core(stored_core, spaces, stored)
    task = about.task if not isinstance(core, Core | ContinuousCore) else None
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
    return _with_core(core, spaces, stored)


def _with_core(core: Core | ContinuousCore, spaces: Spaces, stored: StoredCore) -> SpacesWithCore:
    """The spaces around a core as a file describes them."""
    if isinstance(core, ContinuousCore):
        return dataclasses.replace(BoxSpacesWithCore.of_core(core), scaling=spaces.scaling)
    features = feature_count(core.layers, spaces.obs_shape)
    if stored.features not in (0, features):
        raise InputError(
            f"{core.name} has {features} features and the policy was trained with "
            f"{stored.features}: give exactly the same core"
        )
    own = dataclasses.replace(SpacesWithCore.of_core(core), scaling=spaces.scaling)
    return dataclasses.replace(
        own,
        unit=stored.unit,
        features=stored.features,
        feature_scaling=stored.feature_scaling,
    )


def _stored_core(
    spaces: Spaces, arrays: dict[str, np.ndarray], stored: StoredCore
) -> Core | ContinuousCore:
    if not stored.layers:
        raise InputError(
            f"it was trained around {stored.name}, which a file cannot hold: give it again, as "
            "Policy.load(path, core=...), or with --core"
        )
    finite = spaces.actions.finite
    kinds: tuple[OutputKind, ...] = ("logits", "q") if finite else ("action",)
    if stored.kind not in kinds:
        expected = " or ".join(f"'{kind}'" for kind in kinds)
        raise InputError(f"the core's kind is '{stored.kind}': expected {expected}")
    layers = restore(arrays, stored.layers)
    if not finite:
        _refuse_outputs(layers, spaces, spaces.actions.shape[0], "numbers of an action")
        return ContinuousCore.from_layers(stored.name, spaces, layers, gym_space(spaces))
    _refuse_outputs(layers, spaces, spaces.actions.width, "actions")
    return Core.from_layers(
        stored.name, spaces, stored.kind, layers, stored.temperature, masked=stored.masked
    )


def _refuse_outputs(layers: Layers, spaces: Spaces, n: int, of: str) -> None:
    outputs = output_shape(layers, spaces.obs_shape)
    if outputs != (n,):
        raise InputError(
            f"the core's network has outputs of shape {list(outputs)}: expected one for each of "
            f"the {n} {of}"
        )
