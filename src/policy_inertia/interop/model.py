"""A whole policy as layers and numbers: what an ONNX file and an env wrapper need to know of it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..algorithms import DQNConfig, NestedConfig, SACConfig
from ..algorithms.losses import inertia
from ..algorithms.networks import with_action
from ..envs import Spaces
from ..policy import Policy
from ..types import InputError
from .network import Flatten, Layers, OneHot, perceptron, run

Kind = Literal["action", "logits", "probabilities", "q"]
KINDS: tuple[Kind, ...] = ("action", "logits", "probabilities", "q")
GREEDY = 0.0  # the temperature at which only the best action is left


def default_temperature(kind: Kind) -> float:
    """Q-values are followed greedily, probabilities and logits as they are."""
    return GREEDY if kind == "q" else 1.0


@dataclass(frozen=True)
class Controller:
    """mu(s, a_prev): layers over the encoded observation with a_prev's one-hot behind it."""

    layers: Layers
    mu0: float


@dataclass(frozen=True)
class Model:
    """A policy over (observation, previous action), without a line of code in it."""

    spaces: Spaces
    core: Layers  # from the env's observations to scores, one for each action
    kind: Kind  # what those scores are: logits or Q-values
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
        encoded = run(encoding(self.spaces), obs)
        x = run(self.controller.layers, with_action(encoded, prev_action, self.n_actions, np))
        return inertia(x[:, 0], self.controller.mu0, np) * (prev_action >= 0)

    def inertia_of_one(self, obs: np.ndarray, prev_action: int) -> float:
        """mu(s, a_prev) of a batch of one that has a previous action, in a few microseconds."""
        assert self.controller is not None
        encoded = run(encoding(self.spaces), obs)[0]
        size = len(encoded)
        row = np.zeros((1, size + self.n_actions), np.float32)
        row[0, :size] = encoded
        row[0, size + prev_action] = 1
        return inertia(run(self.controller.layers, row).item(), self.controller.mu0, math)

    @property
    def n_actions(self) -> int:
        return self.spaces.n_actions


def encoding(spaces: Spaces) -> Layers:
    """`Spaces.encode` as layers."""
    if spaces.n_states is not None:
        return (OneHot(spaces.n_states, spaces.first_state),)
    return (Flatten(),)


def model_of(policy: Policy) -> Model:
    """One of our own policies as a model; refuses what needs more state than an action."""
    if policy.repeats != (1,):
        raise InputError(
            f"{policy.method} also carries how long it still holds its action, and a model carries "
            "the previous action alone: choose a method that decides at every step, such as nsac"
        )
    params, config, controller = policy.params, policy.config, None
    if isinstance(config, NestedConfig):
        controller = Controller(perceptron(params.pic), config.mu0)
        params, config = params.core, config.core
    if not isinstance(config, DQNConfig | SACConfig):
        raise InputError(f"{policy.method} has a core of an unknown kind: it cannot be taken apart")
    kind: Kind = "q" if isinstance(config, DQNConfig) else "logits"
    about = {
        "task": policy.task,
        "env_kwargs": policy.env_kwargs,
        "method": policy.method,
        "config": dataclasses.asdict(policy.config),
    }
    return Model(
        policy.spaces,
        encoding(policy.spaces) + perceptron(params),
        kind,
        default_temperature(kind),
        controller,
        policy.hysteresis,
        about,
    )
