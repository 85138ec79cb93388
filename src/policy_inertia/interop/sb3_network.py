"""Rebuild the network of a Stable-Baselines3 policy from its weights alone.

Supported are the standard policies of DQN, QR-DQN, PPO and A2C, with a perceptron or the Nature
CNN. The names and shapes of the weights give the layers. `NetworkFacts` holds what they do not
give, such as the activation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from policy_inertia.envs.dict_observations import is_image, slices
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.foreign_files import shown
from policy_inertia.interop.sb3_recurrent import MODULE, UNUSED, read_lstm
from policy_inertia.interop.vec_normalize import normalised_keys
from policy_inertia.networks.layers import (
    ACTIVATIONS,
    Activation,
    Branch,
    Branches,
    ChannelsFirst,
    Conv,
    Flatten,
    Layer,
    Layers,
    Linear,
    OneHot,
    Rescale,
    run,
)
from policy_inertia.networks.memory_layers import FrameStack
from policy_inertia.policies.probing import OutputKind

MASKABLE_POLICIES = "sb3_contrib.common.maskable.policies"
"""The module of MaskablePPO's policies."""
POLICY_MODULES = (
    "stable_baselines3.common.policies",
    "stable_baselines3.dqn.policies",
    "sb3_contrib.qrdqn.policies",
    MASKABLE_POLICIES,
    MODULE,
)
EXTRACTORS = ("FlattenExtractor", "NatureCNN", "CombinedExtractor")
NATURE = (((8, 8), 4), ((4, 4), 2), ((3, 3), 1))  # kernels and strides of the Nature CNN

Weights = dict[str, np.ndarray]


class UnknownNetworkError(Exception):
    """The network cannot be rebuilt from its weights; the message says why."""


@dataclass(frozen=True)
class NetworkFacts:
    """What the weights do not say about a policy's network."""

    module: str  # in which the policy's class is defined
    activation: str | None = None  # PyTorch's name; None: the default of its family
    extractor: str | None = None  # class of the features extractor; None: the default
    normalize_images: bool = True
    other_arguments: tuple[str, ...] = ()  # of the policy; their meaning is not known
    frames: FrameStack | None = None  # of the VecFrameStack that it was trained in


class Family(NamedTuple):
    """How the policies of one algorithm name their weights."""

    sign: str  # a weight whose name starts like this belongs to the family
    kind: OutputKind
    body: str  # prefix of the perceptron
    extractor: str  # prefix of the features extractor
    unused: tuple[str, ...]  # prefixes of weights that acting does not need
    activation: str  # the default


FAMILIES = (
    Family(
        "q_net.q_net.",
        "q",
        "q_net.q_net",
        "q_net.features_extractor",
        ("q_net_target.",),
        "ReLU",
    ),
    Family(
        "quantile_net.quantile_net.",
        "q",
        "quantile_net.quantile_net",
        "quantile_net.features_extractor",
        ("quantile_net_target.",),
        "ReLU",
    ),
    Family(
        "action_net.weight",
        "logits",
        "mlp_extractor.policy_net",
        "features_extractor",
        (
            "mlp_extractor.value_net.",
            "value_net.",
            "vf_features_extractor.",
            "pi_features_extractor.",
            "action_net.",  # the last layer; it is read apart from the body
            "lstm_actor.",  # as is a memory
            *UNUSED,
        ),
        "Tanh",
    ),
)


def rebuild_network(
    weights: Weights,
    facts: NetworkFacts,
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
    name: str,
) -> tuple[OutputKind, Layers]:
    """The network of these weights, from the env's observations to logits or Q-values.

    Args:
        weights: The policy's `state_dict` as NumPy arrays.
        facts: What the weights do not say.
        space: The env's observation space.
        spaces: Both of the env's spaces.
        statistics: VecNormalize's layer in front of the network.
        name: What error messages call the policy.

    Raises:
        InputError: The policy cannot be a core, or does not fit the env.
        UnknownNetworkError: The network is not one of the standard ones.
    """
    _refuse_unsupported(weights, name)
    _refuse_unknown_class(facts)
    family = _family(weights, name)
    activation = facts.activation or family.activation
    if activation not in ACTIVATIONS:
        raise UnknownNetworkError(f"its activation is {activation}")
    _refuse_unknown_weights(weights, family)
    layers = [*input_layers(weights, family.extractor, facts, space, spaces, statistics)]
    layers += read_lstm(weights, name)
    linear = read_perceptron(weights, family.body)
    if family.kind == "logits":
        linear.append(read_linear(weights, "action_net"))
    if family.body.startswith("quantile"):
        linear[-1] = _mean_over_quantiles(linear[-1], spaces.discrete.n, name)
    linear[-1] = _two_for_each_head(linear[-1], spaces)
    for layer in linear:
        layers += [layer, Activation(activation)]
    network = tuple(layers[:-1])
    _refuse_other_spaces(linear[-1], network, spaces, name)
    return family.kind, network


def _refuse_unsupported(weights: Weights, name: str) -> None:
    if "log_std" in weights or any(key.startswith("actor.") for key in weights):
        raise InputError(
            f"{name} has continuous actions: policy inertia needs Discrete ones, so give a DQN, "
            "QR-DQN, PPO or A2C model of such a task"
        )


def _refuse_unknown_class(facts: NetworkFacts) -> None:
    if facts.module not in POLICY_MODULES:
        raise UnknownNetworkError(f"its policy is a class of {facts.module}")
    if facts.other_arguments:
        raise UnknownNetworkError(f"its policy has the argument {facts.other_arguments[0]}")
    if facts.extractor not in (None, *EXTRACTORS):
        raise UnknownNetworkError(f"its features come from a {facts.extractor}")


def _family(weights: Weights, name: str) -> Family:
    for family in FAMILIES:
        if any(key.startswith(family.sign) for key in weights):
            return family
    raise InputError(
        f"{name} holds no policy of DQN, QR-DQN, PPO or A2C: its first weights are "
        f"'{shown(next(iter(weights), 'none'), 80)}'"
    )


def _refuse_unknown_weights(weights: Weights, family: Family) -> None:
    expected = ["action_net.bias"] if family.kind == "logits" else []
    if f"{family.extractor}.cnn.0.weight" in weights:
        expected += [f"{family.extractor}.linear.0.{part}" for part in ("weight", "bias")]
    for key in expected:
        if key not in weights:
            raise UnknownNetworkError(f"it has no weights named {key}")
    for key in weights:
        if not key.startswith((f"{family.body}.", f"{family.extractor}.", *family.unused)):
            raise UnknownNetworkError(f"it has weights named {key}")


def input_layers(
    weights: Weights,
    extractor: str,
    facts: NetworkFacts,
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
) -> Layers:
    """SB3's `preprocess_obs` and its features extractor: everything before the perceptron."""
    if spaces.n_states is not None:
        return (OneHot(spaces.n_states, spaces.first_state), Flatten())
    before: Layers = () if statistics is None else (statistics,)
    if spaces.entries:
        return (*before, *_combined(weights, extractor, facts, spaces, statistics))
    image, shape = statistics is None and is_image(space), spaces.obs_shape
    if facts.frames is not None:  # RL Zoo stacks normalised observations
        before, shape = (*before, facts.frames), facts.frames.output_shape(shape) or shape
    return (*before, *_features(weights, extractor, facts, shape, image))


def _combined(
    weights: Weights,
    extractor: str,
    facts: NetworkFacts,
    spaces: Spaces,
    statistics: Layer | None,
) -> Layers:
    """SB3's CombinedExtractor: images through convolutions, everything else as it is."""
    normalised = normalised_keys(statistics, spaces)
    branches = []
    for entry, at in zip(spaces.entries, slices(spaces.entries).values(), strict=True):
        image = entry.image and entry.name not in normalised
        shape = entry.shape if image else (entry.width,)
        prefix = f"{extractor}.extractors.{entry.name}"
        layers = _features(weights, prefix, facts, shape, image)
        branches.append(Branch(at.start, at.stop, shape, layers))
    known = tuple(f"{extractor}.extractors.{entry.name}." for entry in spaces.entries)
    for key in weights:
        if key.startswith(f"{extractor}.") and not key.startswith(known):
            raise UnknownNetworkError(f"it has weights named {key}")
    plain = all(branch.layers == (Flatten(),) for branch in branches)
    return (Flatten(),) if plain else (Branches(tuple(branches)),)


def _features(
    weights: Weights, extractor: str, facts: NetworkFacts, shape: tuple[int, ...], image: bool
) -> Layers:
    """The layers from one array of an observation to its features."""
    layers: list[Layer] = []
    if image and int(np.argmin(shape)) != 0:  # SB3: the smallest axis is the channels
        layers.append(ChannelsFirst())
    if image and facts.normalize_images:
        layers.append(Rescale(np.zeros((), np.float32), np.full((), 255, np.float32)))
    if f"{extractor}.cnn.0.weight" not in weights:
        return (*layers, Flatten())
    for index, (kernel, stride) in zip((0, 2, 4), NATURE, strict=True):
        w, b = (weights.get(f"{extractor}.cnn.{index}.{part}") for part in ("weight", "bias"))
        if w is None or b is None or w.shape[2:] != kernel or b.shape != w.shape[:1]:
            raise UnknownNetworkError("its convolutions are not those of the Nature CNN")
        _refuse_no_floats(f"{extractor}.cnn.{index}", w, b)
        layers += [Conv(w, b, stride), Activation("ReLU")]
    if sum(key.startswith(f"{extractor}.") for key in weights) != 8:
        raise UnknownNetworkError("its features come from more than the Nature CNN")
    return (*layers, Flatten(), read_linear(weights, f"{extractor}.linear.0"), Activation("ReLU"))


def read_perceptron(weights: Weights, prefix: str) -> list[Linear]:
    """The linear layers at 0, 2, 4, ...; the odd numbers are activations, without weights."""
    keys = [key.removeprefix(f"{prefix}.") for key in weights if key.startswith(f"{prefix}.")]
    expected = [f"{2 * i}.{part}" for i in range(len(keys) // 2) for part in ("weight", "bias")]
    if sorted(keys) != sorted(expected):
        raise UnknownNetworkError(f"{prefix} has layers {', '.join(keys)}")
    return [read_linear(weights, f"{prefix}.{2 * i}") for i in range(len(keys) // 2)]


def read_linear(weights: Weights, prefix: str) -> Linear:
    """A linear layer; the names of its weights are known to exist."""
    w, b = weights[f"{prefix}.weight"], weights[f"{prefix}.bias"]
    if w.ndim != 2 or b.shape != w.shape[:1]:
        raise UnknownNetworkError(f"{prefix} is no linear layer")
    _refuse_no_floats(prefix, w, b)
    return Linear(np.ascontiguousarray(w.T), b)


def _refuse_no_floats(prefix: str, *weights: np.ndarray) -> None:
    for values in weights:
        if values.dtype.kind != "f":
            raise UnknownNetworkError(f"{prefix} has weights of type {values.dtype}")


def _mean_over_quantiles(last: Linear, n_actions: int, name: str) -> Linear:
    """QR-DQN's Q-values: a mean over quantiles is linear, so the last layer can compute it."""
    outputs = last.w.shape[1]
    if outputs % n_actions:
        raise InputError(
            f"{name} has {outputs} quantiles, which {n_actions} actions do not divide: the "
            "action spaces differ, so give the env that it was trained on"
        )
    return Linear(
        last.w.reshape(len(last.w), -1, n_actions).mean(1), last.b.reshape(-1, n_actions).mean(0)
    )


def _two_for_each_head(last: Linear, spaces: Spaces) -> Linear:
    """MultiBinary: SB3 gives the logit of "on" for each head; the one of "off" is 0.

    MaskablePPO gives both.
    """
    binary = getattr(spaces.actions, "binary", False)
    if not binary or (last.w.shape[1],) != spaces.actions.shape:
        return last
    w, b = (np.stack([np.zeros_like(x), x], -1) for x in (last.w, last.b))
    return Linear(w.reshape(len(w), -1), b.reshape(-1))


def _refuse_other_spaces(last: Linear, network: Layers, spaces: Spaces, name: str) -> None:
    n_actions = last.w.shape[1]
    if n_actions != spaces.actions.width:
        raise InputError(
            f"{name} chooses among {n_actions} actions and the env has {spaces.actions.width}: the "
            "action spaces differ, so give the env that it was trained on"
        )
    sample = np.zeros((1, *spaces.obs_shape), np.float32)
    try:
        with np.errstate(all="ignore"):
            run(network, sample)
    except ValueError:
        raise InputError(
            f"{name} does not take observations of shape {spaces.obs_shape}: give the env that it "
            "was trained on, with the same wrappers; of a VecFrameStack, give frame_stack, the "
            "number of its frames"
        ) from None
