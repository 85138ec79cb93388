"""The networks of our own policies as layers, and the mean action of one with Box actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import (
    BYTES,
    ChannelsFirst,
    Flatten,
    Layers,
    Linear,
    OneHot,
    Rescale,
    convolutions,
    into_bounds,
    perceptron,
)
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.probing import gym_space
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.types import Tree

Policy = Any  # policies/policy.py, which imports this file


def network_layers(spaces: Spaces, params: Tree) -> tuple[Layers, Layers]:
    """One of our networks as layers: up to where a controller adds its inputs, and the rest."""
    image = spaces.spec.image
    if spaces.n_states is not None and not spaces.features:
        return (OneHot(spaces.n_states, spaces.first_state),), perceptron(params)
    if image is None:
        scaling = spaces.network_scaling
        scale = () if scaling is None else (Rescale(*scaling.arrays),)
        return (Flatten(), *scale), perceptron(params)
    first: Layers = (ChannelsFirst(),) if spaces.channels_last else ()
    first += () if spaces.planes else (BYTES,)  # planes are 0 and 1 already
    return first + convolutions(params["torso"], image), perceptron(params["head"])


def mean_core(policy: Policy) -> ContinuousCore:
    """A policy that we trained on Box actions as a core: its mean action and its limit.

    Raises:
        InputError: The actions are Discrete, or a controller is part of the policy.
    """
    if policy.spaces.actions.finite:
        raise InputError(
            f"{policy.method} has Discrete actions, and a filter is for continuous ones: use "
            "with_hysteresis or with_limit"
        )
    if policy.nested:
        raise InputError(
            f"{policy.method} has a controller, which smooths its actions: put a filter around "
            "policy.core() instead"
        )
    if policy.repeats != (1,):
        raise InputError(
            f"{policy.method} holds its actions for several steps, and a filter is for policies "
            "that decide at every step: give one, such as sac"
        )
    if isinstance(policy.spaces, SpacesWithCore):
        core: Any = policy.spaces.core
        return core.on(policy.task, policy.env_kwargs).within(policy.limit)
    layers = mean_layers(policy.spaces, policy.params)
    spaces = policy.spaces.unscaled
    name = f"{policy.method} on {policy.task or 'a task'}"
    core = ContinuousCore.from_layers(name, spaces, layers, gym_space(spaces))
    return core.on(policy.task, policy.env_kwargs).within(policy.limit)


def mean_layers(spaces: Spaces, params: Tree) -> Layers:
    """The layers of an actor for Box actions up to its mean action, in the env's units."""
    features, (*hidden, last) = network_layers(spaces, params)
    actions: Any = spaces.actions
    assert isinstance(last, Linear), "a perceptron ends in a linear layer"
    (d,) = actions.shape  # the outputs behind them are of a standard deviation
    mean = Linear(np.ascontiguousarray(last.w[:, :d]), last.b[:d])
    return (*features, *hidden, mean, *into_bounds(actions, squashed=True))
