"""A policy as layers and numbers, for export to other programs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.algorithms.interface import Nested
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import Layers
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_features import run_core
from policy_inertia.policies.core_outputs import GREEDY
from policy_inertia.policies.cores import Core, default_temperature
from policy_inertia.policies.mean_action import mean_core, mean_layers, network_layers
from policy_inertia.policies.memory import Filter, Memory, State
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import OutputKind
from policy_inertia.policies.spaces_with_core import SpacesWithCore


@dataclass(frozen=True)
class ControllerDescription:
    """A controller as layers and numbers; see `algorithms.nested.ControllerParts`."""

    rule: str
    """How the networks' outputs become a policy; see `onnx_rules.RULES` and `c_rules.RULES`."""
    networks: tuple[tuple[Layers, Layers], ...]
    """Each network in two parts: from the observation to its features, and from the features,
    the core's preferences if they are seen, a_prev's one-hot and, for a dial, the price's features
    to the output."""
    numbers: dict[str, float]
    limit: Limit | None = None
    """The limit that a controller may plan with."""
    core_unit: float = 0.0
    """The unit of `preferences`, which follow the features; 0: the networks do not see them."""
    price_input: bool = False
    """Whether the price of a dial is an input of the file, and not the one that it is set to."""
    on_features: bool = False
    """Whether the networks see the core's features instead of the observation."""
    costs: tuple[float, ...] | None = None
    """What switches cost, a table row by row; None where they all cost the same."""
    mean: bool = False
    """Whether the mean of twin critics counts, and not the lower value."""

    @property
    def has_dial(self) -> bool:
        """Whether the networks see the price of switching."""
        return "largest_price" in self.numbers


@dataclass(frozen=True)
class PolicyDescription:
    """A policy over (observation, previous action) as layers and numbers."""

    spaces: Spaces
    core: Layers
    """From the env's observations to the core's logits or Q-values, or to continuous actions."""
    kind: OutputKind
    """What the core returns: "logits", "q", or "action" for continuous actions."""
    temperature: float
    controller: ControllerDescription | None
    filters: tuple[Filter, ...]
    memory: Memory
    about: dict[str, Any] = field(default_factory=dict)
    """What a file says about the policy: task, method, settings."""
    masked: bool = False
    """Whether an action mask is an input."""

    def core_output(self, obs: np.ndarray, state: State | None = None) -> np.ndarray:
        """The core's logits or Q-values for a batch of the env's observations.

        Args:
            obs: The observations.
            state: The policy's memory; None at the start of an episode.
        """
        return run_core(self.core, obs, state or {})[0]


def describe(policy: Policy | Core | ContinuousCore, dial: bool = False) -> PolicyDescription:
    """Describe a policy, or a core whose network is known.

    Args:
        policy: What to describe.
        dial: Whether the price of a dial is an input of the file.

    Raises:
        InputError: A part of the policy cannot be written as layers and numbers, or there is no
            dial.
    """
    if dial and (not isinstance(policy, Policy) or not policy.traits.dial):
        raise InputError(f"{policy} has no dial: export it without one")
    if not isinstance(policy, Policy):
        return _describe_core(policy)
    config: Any = policy.config
    nested = isinstance(policy.algorithm, Nested)
    controller = _describe_controller(policy, dial) if nested else None
    about = {
        "task": policy.task,
        "env_kwargs": policy.env_kwargs,
        "method": policy.method,
        "hysteresis": policy.hysteresis,
        "limit": policy.limit and dataclasses.asdict(policy.limit),
        "switching": policy.switching and policy.switching.to_dict(),
        "config": dataclasses.asdict(config),
        "calibration": policy.calibration and policy.calibration.to_dict(),
    }
    if isinstance(policy.spaces, SpacesWithCore):
        core = _describe_core(policy.spaces.core)
        return dataclasses.replace(
            core, controller=controller, filters=policy.filters, memory=policy.memory, about=about
        )
    kind, layers = core_network(policy)
    return PolicyDescription(
        policy.spaces,
        layers,
        kind,
        default_temperature(kind),
        controller,
        policy.filters,
        policy.memory,
        about,
    )


def core_network(policy: Policy) -> tuple[OutputKind, Layers]:
    """The network of a policy that we trained; of a nested one, its core's network.

    Returns:
        What the network returns, and its layers, from the env's observations on.
    """
    params = policy.params
    if policy.traits.skips:
        raise InputError(
            f"{policy} has a second network for how long it holds its actions, which no exported "
            "file has: export dqn-repeat instead, or use the policy file itself"
        )
    if isinstance(policy.algorithm, Nested):
        params = policy.algorithm.core_params(params)
    if not policy.spaces.actions.finite:
        return "action", mean_layers(policy.spaces, params)
    features, head = network_layers(policy.spaces, params)
    kind: OutputKind = "q" if policy.config.core_config.traits.scores == "values" else "logits"
    return kind, features + head


def exported(policy: Any) -> Any:
    """What is written for a policy: itself, or the mean action of one with Box actions."""
    plain = isinstance(policy, Policy) and not policy.nested
    return mean_core(policy) if plain and not policy.spaces.actions.finite else policy


def _describe_core(core: Core | ContinuousCore) -> PolicyDescription:
    if core.layers is None:
        raise InputError(
            f"the network inside {core.name} is not known, so it cannot be exported: "
            "give a Stable-Baselines3 model with a standard MLP or Nature CNN policy"
        )
    return PolicyDescription(
        core.spaces,
        core.layers,
        core.kind,
        core.temperature if isinstance(core, Core) else GREEDY,
        None,
        core.filters,
        core.memory,
        {"core": core.name, "method": "core", **_filter_settings(core)},
        isinstance(core, Core) and core.masked,
    )


def _filter_settings(core: Core | ContinuousCore) -> dict[str, Any]:
    """The filters of a core as JSON, and its env if it is known."""
    if isinstance(core, Core):
        parts = {"limit": core.limit, "switching": core.switching}
        known = {name: part and part.to_dict() for name, part in parts.items()}
        return {"hysteresis": core.hysteresis, **known}
    task = {"task": core.task, "env_kwargs": core.env_kwargs}
    return {**task, "dimensions": core.dimensions, **core.settings}


def _describe_controller(policy: Policy, dial: bool) -> ControllerDescription:
    config: Any = policy.config
    parts = config.parts(policy.params.controller)
    if parts is None:
        raise InputError(f"the controller of {policy} cannot be exported: export its core instead")
    networks = tuple(network_layers(policy.spaces, network) for network in parts.networks)
    unit = policy.spaces.unit if isinstance(policy.spaces, SpacesWithCore) else 0.0
    sees = bool(policy.spaces.features)
    numbers, limit = parts.numbers, policy.limit
    return ControllerDescription(
        parts.rule, networks, numbers, limit, unit, dial, sees, parts.costs, parts.mean
    )
