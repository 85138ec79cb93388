"""A whole policy as layers and numbers: what an ONNX file and an env wrapper need to know of it."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from policy_inertia.algorithms.controllers import prices
from policy_inertia.algorithms.interface import Nested
from policy_inertia.algorithms.losses import inertia
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import (
    ChannelsFirst,
    Flatten,
    Layers,
    OneHot,
    convolutions,
    perceptron,
    run,
)
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.policies.cores import Core, default_temperature
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import OutputKind
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.types import Tree


@dataclass(frozen=True)
class Prices:
    """A dial's prices of switching: what it is set to, how far it goes, and its unit of values.

    At price lambda values are in units of 1 + `unit` * lambda / `largest`.
    """

    price: float
    largest: float
    unit: float


@dataclass(frozen=True)
class Controller:
    """Networks over what their eyes make of the observation, a_prev's one-hot and a price.

    With `act` mu there is one, which gives the pre-activation of mu(s, a_prev); else there are
    twins U(s, a_prev, .), by whose lower value a dial's `gate` or its `full` choice goes.
    """

    networks: tuple[tuple[Layers, Layers], ...]  # eyes, and what comes after them
    mu0: float
    act: Literal["mixture", "gate", "free"] = "mixture"
    prices: Prices | None = None  # None: one price, `fixed`
    fixed: float = 0.0
    begins: bool = False  # whether a gate's critics choose the first action, or the core does

    @functools.cached_property
    def _set(self) -> tuple[np.ndarray, np.float32]:
        """What its networks see of the price that it is set to, and that in the unit of values."""
        if self.prices is None:
            return np.zeros(0, np.float32), np.float32(self.fixed)
        largest = max(self.prices.largest, float(np.finfo(np.float32).tiny))
        x = min(self.prices.price / largest, 1)
        seen = prices.features(np.float32(x), np)
        return seen, np.float32(self.prices.price / (1 + self.prices.unit * x))

    def values(self, obs: np.ndarray, prev_action: np.ndarray, n_actions: int) -> np.ndarray:
        """Q(s, a_prev, .) of a batch, by the twins of a dial that asks its critics."""
        seen, price = self._set
        last = one_hot(prev_action, n_actions, np)
        turned = seen + np.zeros((len(obs), 1), np.float32)
        u, other = (
            run(layers, np.concatenate([run(eyes, obs), last, turned], 1))
            for eyes, layers in self.networks
        )
        return prices.net(np.minimum(u, other), price, last)

    def holds_one(self, obs: np.ndarray, prev: int, action: int, n_actions: int) -> bool:
        """Whether a gate repeats `prev` in a batch of one, in a few microseconds."""
        seen, price = self._set
        row, values = None, []
        for eyes, layers in self.networks:
            if row is None or len(eyes) > 1:  # without convolutions both see the same
                encoded = run(eyes, obs)[0]
                size = len(encoded)
                row = np.zeros((1, size + n_actions + len(seen)), np.float32)
                row[0, :size] = encoded
                row[0, size + prev] = 1
                row[0, size + n_actions :] = seen
            values.append(run(layers, row)[0])
        one, two = values
        return bool(min(one[prev], two[prev]) + price >= min(one[action], two[action]))

    @property
    def plain(self) -> bool:
        """Whether mu is all there is to it: no prices."""
        return self.act == "mixture" and self.prices is None


@dataclass(frozen=True)
class Model:
    """A policy over (observation, previous action), without a line of code in it."""

    spaces: Spaces
    core: Layers  # from the env's observations to scores, one for each action
    kind: OutputKind  # what those scores are: logits or Q-values
    temperature: float
    controller: Controller | None = None
    hysteresis: float | None = None
    about: dict[str, Any] = field(default_factory=dict)  # what a file says of itself

    def scores(self, obs: np.ndarray) -> np.ndarray:
        """The core's Q-values or logits of a batch of the env's observations."""
        return run(self.core, obs)

    def inertia(self, obs: np.ndarray, prev_action: np.ndarray) -> np.ndarray:
        """mu(s, a_prev) of a batch; 0 without a controller or a previous action."""
        if self.controller is None:
            return np.zeros(len(obs), np.float32)
        assert self.controller.plain, "ask the policy"
        ((eyes, layers),) = self.controller.networks
        encoded = run(eyes, obs)
        last = one_hot(prev_action, self.n_actions, np)
        x = run(layers, np.concatenate([encoded, last], axis=1))
        return inertia(x[:, 0], self.controller.mu0, np) * (prev_action >= 0)

    def inertia_of_one(self, obs: np.ndarray, prev_action: int) -> float:
        """mu(s, a_prev) of a batch of one that has a previous action, in a few microseconds."""
        assert self.controller is not None
        assert self.controller.plain, "ask the policy"
        ((eyes, layers),) = self.controller.networks
        encoded = run(eyes, obs)[0]
        size = len(encoded)
        row = np.zeros((1, size + self.n_actions), np.float32)
        row[0, :size] = encoded
        row[0, size + prev_action] = 1
        return inertia(run(layers, row).item(), self.controller.mu0, math)

    @property
    def n_actions(self) -> int:
        return self.spaces.discrete.n


def layers_of(spaces: Spaces, params: Tree) -> tuple[Layers, Layers]:
    """One of our own networks as layers: up to where a controller adds its inputs, and the rest."""
    if spaces.n_states is not None:
        return (OneHot(spaces.n_states, spaces.first_state),), perceptron(params)
    if not spaces.pixels:
        return (Flatten(),), perceptron(params)
    first = (ChannelsFirst(),) if spaces.channels_last else ()
    return first + convolutions(params["torso"]), perceptron(params["head"])


def model_of_core(core: Core) -> Model:
    """A core as a model.

    Raises:
        InputError: The network of the core is not known.
    """
    if core.layers is None:
        raise InputError(
            f"the network inside {core.name} is not known, so it cannot be written as ONNX: "
            "give a Stable-Baselines3 model with a standard MLP or Nature CNN policy"
        )
    return Model(
        core.spaces,
        core.layers,
        core.kind,
        core.temperature,
        hysteresis=core.hysteresis,
        about={"core": core.name, "method": "core"},
    )


def model_of(policy: Policy) -> Model:
    """One of our own policies as a model; refuses what needs more state than an action."""
    if policy.repeats != (1,):
        raise InputError(
            f"{policy.method} also carries how long it still holds its action, and a model carries "
            "the previous action alone: choose a method that decides at every step, such as nsac"
        )
    params, controller = policy.params, None
    if isinstance(policy.algorithm, Nested):
        controller = controller_of(policy)
        params = policy.algorithm.core_params(params)
    about = {
        "task": policy.task,
        "env_kwargs": policy.env_kwargs,
        "method": policy.method,
        "config": dataclasses.asdict(policy.config),
        "calibration": policy.calibration and policy.calibration.to_dict(),
    }
    if isinstance(policy.spaces, SpacesWithCore):
        core = model_of_core(policy.spaces.core)
        return dataclasses.replace(
            core, controller=controller, hysteresis=policy.hysteresis, about=about
        )
    kind: OutputKind = "q" if policy.config.core_config.traits.scores == "values" else "logits"
    return Model(
        policy.spaces,
        sum(layers_of(policy.spaces, params), ()),
        kind,
        default_temperature(kind),
        controller,
        policy.hysteresis,
        about,
    )


def controller_of(policy: Policy) -> Controller:
    """The controller of a nested policy.

    Raises:
        InputError: The controller has no form for other programs.
    """
    config: Any = policy.config
    parts = config.parts(policy.params.controller)
    if parts is None:
        raise InputError(f"the controller of {policy} cannot be exported: export its core instead")
    numbers = parts.numbers
    dial = None
    if "largest_price" in numbers:
        dial = Prices(numbers["price"], numbers["largest_price"], numbers["unit"])
    return Controller(
        tuple(layers_of(policy.spaces, network) for network in parts.networks),
        numbers.get("mu0", 0.0),
        parts.rule,
        dial,
        numbers.get("fixed_price", 0.0),
        bool(numbers.get("critics_begin", 0.0)),
    )
