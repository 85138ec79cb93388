"""Rebuild the actor of a Stable-Baselines3 policy with continuous actions from its weights alone.

Supported are the standard policies of SAC, TQC, TD3, DDPG, PPO, A2C and TRPO, with gSDE or without,
with a perceptron or the Nature CNN. The network gives the env's own actions, without the noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.sb3_network import (
    EXTRACTORS,
    NetworkFacts,
    UnknownNetworkError,
    Weights,
    input_layers,
    read_linear,
    read_perceptron,
)
from policy_inertia.networks.layers import (
    ACTIVATIONS,
    Activation,
    Layer,
    Layers,
    Linear,
    Rescale,
    into_bounds,
    run,
)

SDE_CLIP = 2.0
"""SB3's default `clip_mean`: with gSDE, SAC clips its mean action before the tanh."""


class ActorFamily(NamedTuple):
    """How the policies of some algorithms name the weights of their actor."""

    body: str
    """Prefix of the perceptron."""
    head: str
    """Prefix of the last layer; empty where it is part of the perceptron."""
    extractor: str
    """Prefix of the features extractor."""
    unused: tuple[str, ...]
    """Prefixes of weights that acting does not need."""
    activation: str
    squashed: bool
    """Whether a tanh brings the actions into their bounds; they are clipped otherwise."""


_SAC = ActorFamily(
    "actor.latent_pi",
    "actor.mu",
    "actor.features_extractor",
    ("actor.log_std", "critic.", "critic_target."),
    "ReLU",
    True,
)
_TD3 = ActorFamily(
    "actor.mu",
    "",
    "actor.features_extractor",
    ("actor_target.", "critic.", "critic_target."),
    "ReLU",
    True,
)
_ACTOR_CRITIC = ActorFamily(
    "mlp_extractor.policy_net",
    "action_net",
    "features_extractor",
    (
        "log_std",
        "mlp_extractor.value_net.",
        "value_net.",
        "vf_features_extractor.",
        "pi_features_extractor.",
    ),
    "Tanh",
    False,
)
ACTORS: dict[str, ActorFamily] = {
    "stable_baselines3.sac.policies": _SAC,
    "sb3_contrib.tqc.policies": _SAC,
    "stable_baselines3.td3.policies": _TD3,
    "stable_baselines3.common.policies": _ACTOR_CRITIC,
}
"""The families by the module in which the policy's class is defined."""


def rebuild_actor(
    weights: Weights,
    facts: NetworkFacts,
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
    name: str,
) -> Layers:
    """The network of these weights, from the env's observations to the env's actions.

    Args:
        weights: The policy's `state_dict` as NumPy arrays.
        facts: What the weights do not say.
        space: The env's observation space.
        spaces: Both of the env's spaces.
        statistics: VecNormalize's layer in front of the network.
        name: What error messages call the policy.

    Raises:
        InputError: The policy is recurrent, or does not fit the env.
        UnknownNetworkError: The network is not one of the standard ones.
    """
    if any("lstm" in key for key in weights):
        raise InputError(
            f"{name} is recurrent and has continuous actions: recurrent policies are read with "
            "Discrete actions only, so give a policy without memory"
        )
    family = _family(facts, name)
    activation = facts.activation or family.activation
    if activation not in ACTIVATIONS:
        raise UnknownNetworkError(f"its activation is {activation}")
    linear = _linear_layers(weights, family)
    layers = [*input_layers(weights, family.extractor, facts, space, spaces, statistics)]
    for layer in linear:
        layers += [layer, Activation(activation)]
    layers.pop()
    if f"{family.head}.0.weight" in weights:
        layers.append(Rescale(np.zeros((), np.float32), np.ones((), np.float32), SDE_CLIP))
    actions: Any = spaces.actions
    network = (*layers, *into_bounds(actions, family.squashed))
    _refuse_other_spaces(linear[-1], network, spaces, name)
    return network


def _family(facts: NetworkFacts, name: str) -> ActorFamily:
    if facts.module not in ACTORS:
        if facts.module.startswith(("stable_baselines3.dqn", "sb3_contrib.qrdqn")):
            raise InputError(
                f"{name} has Discrete actions and the env has continuous ones: give the env that "
                "it was trained on"
            )
        raise UnknownNetworkError(f"its policy is a class of {facts.module}")
    if facts.other_arguments:
        raise UnknownNetworkError(f"its policy has the argument {facts.other_arguments[0]}")
    if facts.extractor not in (None, *EXTRACTORS):
        raise UnknownNetworkError(f"its features come from a {facts.extractor}")
    return ACTORS[facts.module]


def _linear_layers(weights: Weights, family: ActorFamily) -> list[Linear]:
    known = (f"{family.body}.", f"{family.extractor}.", *family.unused)
    head = next((h for h in (family.head, f"{family.head}.0") if f"{h}.weight" in weights), None)
    if family.head:
        known += (f"{family.head}.",)
        if head is None or f"{head}.bias" not in weights:
            raise UnknownNetworkError(f"it has no weights named {family.head}.weight and .bias")
    for key in weights:
        if not key.startswith(known):
            raise UnknownNetworkError(f"it has weights named {key}")
    linear = read_perceptron(weights, family.body)
    if family.head:
        linear.append(read_linear(weights, str(head)))
    if not linear:
        raise UnknownNetworkError(f"it has no weights named {family.body}")
    return linear


def _refuse_other_spaces(last: Linear, network: Layers, spaces: Spaces, name: str) -> None:
    d = last.w.shape[1]
    if (d,) != spaces.actions.shape:
        raise InputError(
            f"{name} gives actions of {d} numbers and the env has a {spaces.actions}: the action "
            "spaces differ, so give the env that it was trained on"
        )
    try:
        with np.errstate(all="ignore"):
            run(network, np.zeros((1, *spaces.obs_shape), np.float32))
    except ValueError:
        raise InputError(
            f"{name} does not take observations of shape {spaces.obs_shape}: give the env that it "
            "was trained on, with the same wrappers"
        ) from None


def refuse_other_bounds(trained: tuple[Any, Any], actions: Box, name: str) -> None:
    """Check the bounds that a policy was trained with; nothing is checked if they are not known.

    Args:
        trained: Its lower and upper bounds, as arrays, or as NumPy prints them.
        actions: The env's actions.
        name: What error messages call the policy.

    Raises:
        InputError: The env has other bounds.
    """
    for side, bound, own in zip(
        ("lower", "upper"), trained, (actions.low, actions.high), strict=True
    ):
        values = _numbers(bound)
        if values is None or values.size != len(own):
            continue
        wrong = np.flatnonzero(~np.isclose(values, own, rtol=1e-4, atol=1e-6))
        if len(wrong):
            i = int(wrong[0])
            raise InputError(
                f"{name} was trained with the {side} bound {values[i]:g} for number {i} of the "
                f"actions, and the env has {own[i]:g}: give the env that it was trained on, or "
                "wrap it in gymnasium.wrappers.RescaleAction"
            )


def _numbers(bound: Any) -> np.ndarray | None:
    """The numbers of an array, or of its text, such as '[-2. 1.]'; None if they are not known."""
    if isinstance(bound, np.ndarray):
        return bound.ravel().astype(float)
    if not isinstance(bound, str):
        return None
    try:
        return np.array([float(word) for word in bound.replace("[", " ").replace("]", " ").split()])
    except ValueError:  # NumPy prints long arrays with dots
        return None
