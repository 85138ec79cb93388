"""Observations with a frozen core's answers behind them: how the core gets into the one loop.

The core is asked once, when the env gives an observation. Its answers then travel with it, through
the replay buffer too, so that learning never asks again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks import layers as network
from policy_inertia.policies.cores import Core, load_core
from policy_inertia.policies.probing import examples
from policy_inertia.types import Array, Spec

ASKED = 256  # observations by whose best actions a core is told from others


@dataclass(frozen=True)
class Consulted(Spaces):
    """An env's spaces, whose encoded observations end in the core's log-probabilities and scores.

    Networks are not shown these numbers: Q-values and logarithms of 0 have no common scale, and
    they are functions of the observation, which networks are shown.
    """

    core: Core = field(kw_only=True, compare=False)

    @classmethod
    def of_core(cls, core: Core) -> Consulted:
        return cls(**core.spaces.to_dict(), core=core)

    @property
    def plain(self) -> Spaces:
        """The env's own."""
        return Spaces(**self.to_dict())

    @property
    def spec(self) -> Spec:
        own = super().spec
        aside = 2 * own.n_actions
        return own._replace(obs_dim=own.obs_dim + aside, aside=aside)

    @property
    def dtype(self) -> Any:
        return np.float32  # pixels too: numbers that are none stand behind them

    def encode(self, obs: Array) -> np.ndarray:
        acting = self.core.acting(obs)
        parts = (super().encode(obs), acting.log_pi, acting.scores)
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def decode(self, vectors: np.ndarray) -> np.ndarray:
        return super().decode(vectors[:, : -2 * self.n_actions])


def identity(core: Core) -> FrozenConfig:
    """A core's name, and a digest of what it does."""
    actions = core.acting(examples(core.space, ASKED)).log_pi.argmax(1)
    digest = hashlib.sha256(actions.astype(np.uint16).tobytes()).hexdigest()
    return FrozenConfig(core.name, digest[:16])


def store(spaces: Spaces) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What a policy's file keeps of its core: all of it where its network is known."""
    assert isinstance(spaces, Consulted)
    core = spaces.core
    arrays, layers = network.store(core.layers or ())
    return arrays, {
        "name": core.name,
        "kind": core.kind,
        "temperature": core.temperature,
        "layers": layers,
    }


def restore(
    spaces: Spaces, arrays: dict[str, np.ndarray], about: dict[str, Any], core: Any, path: Path
) -> Consulted:
    """The spaces of a policy file, with the core that it holds, or with the one that is given."""
    known = about["core"]
    if core is None:
        if not known["layers"]:
            raise InputError(
                f"{path} was trained around {known['name']}, which a file cannot hold: give it "
                "again, as Policy.load(path, core=...)"
            )
        try:
            layers = network.restore(arrays, known["layers"])
            if known["kind"] not in ("logits", "q"):
                raise KeyError(known["kind"])
            core = Core(
                known["name"],
                spaces,
                known["kind"],
                partial(network.run, layers),
                known["temperature"],
                layers,
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"{path} holds a core that cannot be read ({error!r})") from error
        return Consulted.of_core(core)
    task = about["task"] if not isinstance(core, Core) else None
    core = load_core(core, task, env_kwargs=about["env_kwargs"])
    if core.spaces != spaces:
        raise InputError(
            f"{core.name} acts on {core.spaces} and {path} on {spaces}: give the core that it was "
            "trained around"
        )
    config = about["config"].get("core", about["config"])
    if identity(core).answers != config["answers"]:
        raise InputError(
            f"{path} was trained around {known['name']}, and {core.name} acts otherwise: give the "
            "very same core"
        )
    return Consulted.of_core(core)
