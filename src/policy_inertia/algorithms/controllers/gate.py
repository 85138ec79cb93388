"""The gate: repeat the last action if that is worth as much as the core's action, else follow it.

A gate takes no action that the core would not take: its critics never see actions the core avoids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms import losses
from policy_inertia.algorithms.controllers.priced import PricedConfig, PricedParams
from policy_inertia.algorithms.controllers.valued import Choice, Chosen
from policy_inertia.algorithms.interface import AlgorithmConfig
from policy_inertia.types import Array, Number


def gate_choice(
    q: Array, log_core: Array, prev: Array, begin: Number = 0.0, xp: Any = jnp
) -> Chosen:
    """Repeat or follow the core; see `valued.Choice`."""
    mu, action = losses.gate(q, log_core, prev, xp)
    if xp is np and (not begin or prev.min() >= 0):  # saves microseconds
        return mu, action
    return mu, xp.where((prev < 0) & (begin > 0), q.argmax(-1), action)


@dataclass(frozen=True)
class GateConfig(PricedConfig):
    """Settings of a gate."""

    rule = "gate"

    @property
    def choice(self) -> Choice:
        return gate_choice

    def modes(self, params: PricedParams) -> list[tuple[AlgorithmConfig, PricedParams]]:
        """Start an episode, where there is nothing to repeat, with the core's action or with the
        critics' best one, since it will be repeated.

        With a frozen core, its own action always starts the episode: the critics know nothing of
        actions that it never takes.
        """
        assert params.dial is not None
        begins = (0,) if self.core.traits.frozen else (0, 1)
        dials = [params.dial._replace(critics_begin=np.float32(b)) for b in begins]
        return [(self, params._replace(dial=dial)) for dial in dials]

    def mode(self, params: PricedParams) -> str:
        begins = params.dial is not None and bool(params.dial.critics_begin)
        first = "its critics begin" if begins else "the core begins"
        return f"repeats or follows its core, {first}"
