"""The dial: take the best action after the price of switching is paid, whatever the core says."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms.controllers.gate import GateConfig
from policy_inertia.algorithms.controllers.priced import PricedConfig, PricedParams
from policy_inertia.algorithms.controllers.valued import Choice, Chosen
from policy_inertia.algorithms.interface import AlgorithmConfig
from policy_inertia.types import Array, Number


def free_choice(
    q: Array, log_core: Array, prev: Array, begin: Number = 0.0, xp: Any = jnp
) -> Chosen:
    """Take the best action; see `valued.Choice`."""
    best = q.argmax(-1)
    return (best == prev).astype(np.float32), best


@dataclass(frozen=True)
class DialConfig(PricedConfig):
    """Settings of a controller that may take any action."""

    rule = "free"

    @property
    def choice(self) -> Choice:
        return free_choice

    @property
    def gate(self) -> GateConfig:
        """A gate by the same critics."""
        return GateConfig(**{field.name: getattr(self, field.name) for field in fields(self)})

    def variants(self) -> list[AlgorithmConfig]:
        return [self, self.gate]

    def modes(self, params: PricedParams) -> list[tuple[AlgorithmConfig, PricedParams]]:
        """Act freely, or as a gate by the same critics."""
        return [(self, params), *self.gate.modes(params)]

    def mode(self, params: PricedParams) -> str:
        return "takes any action"
