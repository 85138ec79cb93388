"""Live models of Stable-Baselines3, sb3-contrib and SBX as cores.

The network of a standard policy is rebuilt as layers, which NumPy runs. Any other policy is called
as it is, through torch or (SBX) through JAX.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.actions.per_head import per_head
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.frame_stacks import frame_stack, refuse_frames, stack_of_model
from policy_inertia.interop.missing_statistics import warn_of_model
from policy_inertia.interop.sb3_actor import rebuild_actor, refuse_other_bounds
from policy_inertia.interop.sb3_network import (
    MASKABLE_POLICIES,
    NetworkFacts,
    UnknownNetworkError,
    rebuild_network,
)
from policy_inertia.interop.sb3_recurrent import is_recurrent
from policy_inertia.interop.vec_normalize import (
    after_statistics,
    normalises,
    read_statistics,
    statistics_of_model,
)
from policy_inertia.networks.layers import Layer, Layers, run
from policy_inertia.networks.memory_layers import FrameStack
from policy_inertia.networks.perceptron import log_softmax
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_loaders import CoreOptions, Loader, source_name
from policy_inertia.policies.cores import Core
from policy_inertia.policies.probing import (
    OutputFunction,
    OutputKind,
    example_observations,
    of_entries,
    read_spaces,
)

NetworkReading = tuple[OutputKind, OutputFunction, Layers | None]
"""What a policy returns, a function of the env's observations, and its layers if known."""


def is_model(source: Any) -> bool:
    """Whether this is a live model of Stable-Baselines3, sb3-contrib or SBX."""
    return any(c.__module__ == "stable_baselines3.common.base_class" for c in type(source).__mro__)


def load_model(model: Any, env: Any, options: CoreOptions) -> Core | ContinuousCore:
    """A live model as a core; without an env, the model's own spaces are used."""
    space, spaces = read_spaces(model if env is None else env, options.env_kwargs)
    normalise = options.normalise
    if normalise is None:
        normalise = statistics_of_model(model, env)
    name = options.name or source_name(model)
    if normalise is None and not normalises(env):
        warn_of_model(model, name, space, options.warn)
    statistics = read_statistics(normalise, spaces)
    stack = options.frame_stack or stack_of_model(model, spaces)
    frames = frame_stack(stack, space, spaces)
    if isinstance(spaces.actions, Box):
        trained = model.action_space
        refuse_other_bounds(
            (getattr(trained, "low", None), getattr(trained, "high", None)), spaces.actions, name
        )
        refuse_frames(frames, name)
        return read_actor(model.policy, name, space, spaces, statistics)
    layers: Layers | None = None
    if any(c.__module__.startswith("sbx.") for c in type(model).__mro__):
        kind, function = _sbx_function(model.policy)
        function = after_statistics(of_entries(function, spaces), statistics)
    else:
        kind, function, layers = read_policy(
            model.policy, space, spaces, statistics, type(model).__name__, frames
        )
    masked = options.masks or _is_maskable(model.policy)
    return Core(name, spaces, kind, function, options.temperature, layers, space, masked=masked)


LOADER = Loader(is_model, load_model)


def _is_maskable(policy: Any) -> bool:
    """Whether this is a policy of MaskablePPO, or a class of somebody's that extends one."""
    return any(c.__module__ == MASKABLE_POLICIES for c in type(policy).__mro__)


def read_policy(
    policy: Any,
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
    name: str,
    frames: FrameStack | None = None,
) -> NetworkReading:
    """A live torch policy: as layers if they return the same values, else called through torch.

    A policy that remembers must be one of the standard ones: only layers have a memory here.
    """
    if frames is not None or is_recurrent(policy.state_dict()):
        return _read_remembering(policy, space, spaces, statistics, name, frames)
    kind, function = _torch_function(policy)
    as_it_is = kind, after_statistics(of_entries(function, spaces), statistics), None
    try:
        weights, facts = _weights_and_facts(policy)
        kind, layers = rebuild_network(weights, facts, space, spaces, statistics, name)
    except UnknownNetworkError:
        return as_it_is
    obs = example_observations(space, 8)
    theirs, ours = as_it_is[1](obs), run(layers, obs)
    if kind == "logits":
        # torch's distributions store normalised logits; those of MultiBinary are not
        ours, theirs = (
            per_head(lambda part: log_softmax(part, np), values, spaces.actions)
            for values in (ours, theirs)
        )
    if np.allclose(theirs, ours, rtol=1e-4, atol=1e-4):
        return kind, partial(run, layers), layers
    return as_it_is  # somebody replaced a module by hand


def _read_remembering(
    policy: Any,
    space: gym.Space[Any],
    spaces: Spaces,
    statistics: Layer | None,
    name: str,
    frames: FrameStack | None,
) -> NetworkReading:
    try:
        weights, facts = _weights_and_facts(policy)
        facts = dataclasses.replace(facts, frames=frames)
        kind, layers = rebuild_network(weights, facts, space, spaces, statistics, name)
    except UnknownNetworkError as reason:
        raise InputError(
            f"{name} remembers, and {reason}: only standard policies are read with their memory, "
            "so give one of those, or one without memory"
        ) from None
    obs = example_observations(space, 8)
    front = tuple(layer for layer in (statistics, frames) if layer is not None)
    theirs = of_entries(partial(_torch_start, policy), spaces)(run(front, obs))
    ours = run(layers, obs)
    if kind == "logits":
        ours = np.asarray(log_softmax(ours, np))
    if not np.allclose(theirs, ours, rtol=1e-4, atol=1e-4):
        raise InputError(
            f"{name} remembers, and its network differs from the standard one of its weights: give "
            "a policy whose modules nobody replaced"
        )
    return kind, partial(run, layers), layers


def _torch_start(policy: Any, obs: Any) -> np.ndarray:
    """What a live torch policy returns at the start of an episode."""
    import torch

    if not hasattr(policy, "lstm_actor"):
        return _torch_function(policy)[1](obs)
    policy.set_training_mode(False)
    with torch.no_grad():
        tensors = policy.obs_to_tensor(obs)[0]
        n = len(next(iter(obs.values())) if isinstance(obs, dict) else obs)
        lstm = policy.lstm_actor
        zeros = torch.zeros(lstm.num_layers, n, lstm.hidden_size)
        distribution, _ = policy.get_distribution(tensors, (zeros, zeros), torch.ones(n))
        return _logits(distribution, policy).cpu().numpy()


def read_actor(
    policy: Any, name: str, space: gym.Space[Any], spaces: Spaces, statistics: Layer | None
) -> ContinuousCore:
    """A live policy with continuous actions: as layers if they give the same actions, else called
    as it is, through torch or JAX."""

    def act(obs: np.ndarray) -> np.ndarray:
        action, state = policy.predict(obs, deterministic=True)
        if state is not None:
            raise InputError(
                f"{name} is recurrent and has continuous actions: recurrent policies are read with "
                "Discrete actions only, so give a policy without memory"
            )
        return action

    function = after_statistics(of_entries(act, spaces), statistics)
    as_it_is = ContinuousCore.loaded(name, spaces, function, space)
    if not hasattr(policy, "state_dict"):  # SBX
        return as_it_is
    try:
        weights, facts = _weights_and_facts(policy)
        layers = rebuild_actor(weights, facts, space, spaces, statistics, name)
    except UnknownNetworkError:
        return as_it_is
    rebuilt = ContinuousCore.from_layers(name, spaces, layers, space)
    obs = example_observations(space, 8)
    same = np.allclose(rebuilt.output(obs), as_it_is.output(obs), rtol=0, atol=1e-4)
    return rebuilt if same else as_it_is  # somebody replaced a module by hand


def _weights_and_facts(policy: Any) -> tuple[dict[str, np.ndarray], NetworkFacts]:
    """The weights of a live torch policy, and what they do not say about its network."""
    extractor = getattr(policy, "features_extractor_class", None)
    facts = NetworkFacts(
        type(policy).__module__,
        getattr(getattr(policy, "activation_fn", None), "__name__", None),
        None if extractor is None else extractor.__name__,
        bool(getattr(policy, "normalize_images", True)),
    )
    return {key: value.cpu().numpy() for key, value in policy.state_dict().items()}, facts


def _torch_function(policy: Any) -> tuple[OutputKind, OutputFunction]:
    """What a live torch policy returns, and a function that calls it."""
    import torch

    policy.set_training_mode(False)
    kind: OutputKind = "q"
    if hasattr(policy, "q_net"):
        values = policy.q_net
    elif hasattr(policy, "quantile_net"):
        values = lambda obs: policy.quantile_net(obs).mean(1)  # noqa: E731
    elif hasattr(policy, "get_distribution"):
        kind = "logits"
        values = lambda obs: _logits(policy.get_distribution(obs), policy)  # noqa: E731
    else:
        return "action", lambda obs: policy.predict(obs, deterministic=True)[0]

    def function(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return values(policy.obs_to_tensor(obs)[0]).cpu().numpy()

    return kind, function


def _logits(distribution: Any, policy: Any) -> Any:
    """The logits of a torch distribution; of several heads, one behind the other."""
    import torch

    own = getattr(distribution, "distributions", None) or distribution.distribution
    if isinstance(own, list | tuple):  # MultiDiscrete
        return torch.cat([head.logits for head in own], dim=1)
    if not hasattr(own, "logits"):
        raise _continuous(policy)
    if type(own).__name__ == "Bernoulli":  # MultiBinary: SB3 has one number for each head
        return torch.stack([torch.zeros_like(own.logits), own.logits], dim=2).flatten(1)
    return own.logits


def _sbx_function(policy: Any) -> tuple[OutputKind, OutputFunction]:
    """What an SBX policy returns, and a function that calls its JAX network."""
    if hasattr(policy, "qf_state") and not hasattr(policy, "actor_state"):
        return "q", lambda obs: np.asarray(
            policy.qf_state.apply_fn(policy.qf_state.params, policy.prepare_obs(obs)[0])
        )
    state = policy.actor_state
    example = policy.prepare_obs(policy.observation_space.sample())[0]
    if hasattr(state.apply_fn(state.params, example), "logits_parameter"):
        return "logits", lambda obs: np.asarray(
            state.apply_fn(state.params, policy.prepare_obs(obs)[0]).logits_parameter()
        )
    raise _continuous(policy)


def _continuous(policy: Any) -> InputError:
    return InputError(
        f"{type(policy).__name__} has continuous actions: policy inertia needs Discrete ones"
    )
