"""A core: a frozen policy without memory, from any program, and the registry of its loaders.

`load_core` turns what people have (a Stable-Baselines3 model, an ONNX file, a function) into a
`Core`. Each kind of policy has a loader. The loaders live in `policy_inertia.interop`, a higher
layer, and register themselves here.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions.bucket import Limit
from policy_inertia.algorithms.interface import Acting
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest
from policy_inertia.networks.layers import Layers, run
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_outputs import GREEDY, acting_of, allowed_actions
from policy_inertia.policies.head_filters import Threshold, bucket_of, hysteresis_of
from policy_inertia.policies.memory import PREVIOUS_ACTION, Filter, State, memory_of
from policy_inertia.policies.probing import (
    OUTPUT_KINDS,
    OutputFunction,
    OutputKind,
    check_output,
    example_observations,
    gym_space,
    read_spaces,
)
from policy_inertia.policies.trained import find_trained
from policy_inertia.storage import regular_file

DIGEST_OBSERVATIONS = 256  # a core's best actions on these tell it from other cores


def default_temperature(kind: OutputKind) -> float:
    """Q-values are followed greedily; probabilities and logits are used as they are."""
    return GREEDY if kind == "q" else 1.0


class Core:
    """A frozen policy without memory: pi_core(.|s), and scores that hysteresis compares.

    Attributes:
        name: What messages call it.
        spaces: The spaces of the env that it acts on.
        kind: What its network or function returns: "action", "logits", "probabilities" or "q".
        temperature: How that output becomes probabilities. 0 takes the best action only; 1 uses
            probabilities and logits as they are.
        layers: Its network, from the env's observations to logits or Q-values; None if unknown.
        space: The observation space, with its bounds where they are known.
        hysteresis: The threshold of `with_hysteresis`; None without it.
        limit: The limit of `with_limit`; None without it.
        masked: Whether it chooses among the actions that the env's `action_masks()` allow.
    """

    def __init__(
        self,
        name: str,
        spaces: Spaces,
        kind: OutputKind,
        function: OutputFunction,
        temperature: float | None = None,
        layers: Layers | None = None,
        space: gym.Space[Any] | None = None,
        hysteresis: Threshold | None = None,
        limit: Limit | None = None,
        masked: bool = False,
    ) -> None:
        if temperature is not None and not 0 <= temperature < np.inf:
            raise InputError(f"temperature is {temperature}: give 0 (greedy) or more")
        if temperature is not None and kind == "action":
            raise InputError(
                f"temperature is {temperature}, but {name} gives actions: a temperature needs "
                "Q-values, logits or probabilities, so leave it out"
            )
        self.name, self.spaces, self.kind, self.layers = name, spaces, kind, layers
        if hysteresis is not None:
            self.refuse_scoreless()
        self.temperature = default_temperature(kind) if temperature is None else temperature
        self.hysteresis, self.limit, self.masked = hysteresis, limit, masked
        self.space = gym_space(spaces) if space is None else space
        self.filters: tuple[Filter, ...] = (
            () if hysteresis is None else (hysteresis_of(hysteresis, spaces.actions),)
        )
        if limit is not None:
            self.filters += (bucket_of(limit, spaces.actions, masked),)  # the last word
        self.memory = memory_of(spaces.actions, self.filters)
        self._function = function
        self._rng = np.random.default_rng()

    @classmethod
    def from_layers(
        cls,
        name: str,
        spaces: Spaces,
        kind: OutputKind,
        layers: Layers,
        temperature: float | None = None,
        space: gym.Space[Any] | None = None,
        masked: bool = False,
    ) -> Core:
        """A core whose network is known, and which NumPy runs."""
        function = partial(run, layers)
        return cls(name, spaces, kind, function, temperature, layers, space, masked=masked)

    def refuse_scoreless(self) -> None:
        """Raise an `InputError` if the core gives no scores, which hysteresis compares."""
        if self.kind == "action":
            raise InputError(
                f"{self.name} gives actions only, and hysteresis compares how good actions are: "
                "give a core that gives Q-values, logits or probabilities"
            )

    @property
    def digest(self) -> str:
        """A hash of its best actions at a few observations: it tells one core from another."""
        obs = example_observations(self.space, DIGEST_OBSERVATIONS)
        actions = self.acting(obs).policy.mode()
        return hashlib.sha256(actions.astype(np.uint16).tobytes()).hexdigest()[:16]

    def seed(self, seed: int) -> None:
        """Make the actions that are sampled from now on reproducible."""
        self._rng = np.random.default_rng(seed)

    def probabilities(self, obs: ArrayLike, action_masks: Any = None) -> np.ndarray:
        """pi_core(.|s) for a batch of the env's observations: (B, A), float32."""
        return np.exp(self.acting(obs, action_masks).policy.log_pi)

    def scores(self, obs: ArrayLike, action_masks: Any = None) -> np.ndarray | None:
        """Q-values or log-probabilities, (B, A), which hysteresis compares; None for actions."""
        if self.kind == "action":
            return None
        return np.asarray(self.acting(obs, action_masks).scores)

    def acting(self, obs: ArrayLike, action_masks: Any = None) -> Acting:
        """Probabilities and scores for a batch of the env's observations, from one call.

        Args:
            obs: The env's observations.
            action_masks: (B, A) which actions are allowed; None for all.
        """
        values, actions = self.output(obs), self.spaces.actions
        allowed = allowed_actions(action_masks, len(values), self.masked, actions, self.name)
        return acting_of(values, self.kind, self.temperature, actions, allowed)

    def output(self, obs: ArrayLike) -> np.ndarray:
        """The checked output of the core itself: actions counted from 0, or (B, A) float32."""
        obs = self.spaces.read_batch(obs, self.name)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            output = self._function(obs)
        return check_output(output, self.kind, len(obs), self.spaces, self.name)

    def predict(
        self,
        observation: ArrayLike,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, State]:
        """Choose actions as `Policy.predict` does; the state is the previous action, and the tokens
        of a limit."""
        obs = self.spaces.flat(observation)
        single = obs.shape == self.spaces.obs_shape
        obs = obs[None] if single else obs
        state = self.memory.at(state, len(obs), episode_start)
        acting = self.acting(obs, action_masks)
        action = acting.policy.mode() if deterministic else acting.policy.sample(self._rng)
        fields: State = {}
        for rule in self.filters:
            action, own = rule.step(action, acting.scores, state)
            fields |= own
        env_action = self.spaces.actions.to_env(action)
        return (env_action[0] if single else env_action), {**fields, PREVIOUS_ACTION: action}

    def with_hysteresis(self, tau: Threshold) -> Core:
        """The same core, which repeats its last action unless a new one is better by `tau`.

        "Better" is measured in Q for Q-values, in log-probability for logits and probabilities.
        """
        return self._with(tau, self.limit)

    def with_limit(
        self, rate: float, burst: float = 1.0, carry_over: bool = False, per_head: bool = False
    ) -> Core:
        """The same core, which makes at most `burst + rate * n` switches in n steps, always.

        Without a token it repeats its last action; see `Policy.with_limit`.
        """
        return self.within(Limit(rate, burst, carry_over, per_head))

    def within(self, limit: Limit | None) -> Core:
        """The same core within a limit on switching, or without one."""
        return self._with(self.hysteresis, limit)

    def _with(self, hysteresis: Threshold | None, limit: Limit | None) -> Core:
        """The same core with these filters."""
        temperature = None if self.kind == "action" else self.temperature
        return Core(
            self.name,
            self.spaces,
            self.kind,
            self._function,
            temperature,
            self.layers,
            self.space,
            hysteresis,
            limit,
            self.masked,
        )

    def __repr__(self) -> str:
        extra = "" if self.hysteresis is None else f", hysteresis={self.hysteresis}"
        extra += "" if self.limit is None else f", limit={self.limit}"
        return f"Core({self.name}, {self.kind}{extra})"


@dataclass(frozen=True)
class CoreOptions:
    """The options of `load_core`, as a loader receives them."""

    output: OutputKind | None = None
    output_name: str | None = None
    temperature: float | None = None
    normalise: Any = None
    trust: bool = False
    name: str | None = None
    env_kwargs: dict[str, Any] | None = None
    warn: Callable[[str], None] = warnings.warn
    clip: bool = False
    masks: bool = False


class Loader(NamedTuple):
    """How one kind of policy becomes a core."""

    accepts: Callable[[Any], bool]
    """Whether the object, or the `Path` of an existing file or folder, is of this kind."""
    load: Callable[[Any, Any, CoreOptions], Any]
    """From the object or path, the env (or None) and the options to the `Core`, or for Box actions
    to the `ContinuousCore`."""


LOADERS: list[Loader] = []


def register_loader(loader: Loader) -> None:
    """Add a loader to those that `load_core` tries; the one registered last is tried first."""
    LOADERS.insert(0, loader)


def load_core(
    core: Any,
    env: Any = None,
    *,
    output: OutputKind | None = None,
    output_name: str | None = None,
    temperature: float | None = None,
    normalise: Any = None,
    trust: bool = False,
    name: str | None = None,
    env_kwargs: dict[str, Any] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    clip: bool = False,
    masks: bool = False,
) -> Any:
    """Turn somebody's policy into a core.

    Args:
        core: A Stable-Baselines3, sb3-contrib or SBX model; an SB3 zip, or the folder in which RL
            Zoo keeps it; an ONNX file; a function from observations (one or a batch) to an action,
            probabilities, logits or Q-values; a run folder or `Policy` of ours (for a nested
            policy, its core is used).
        env: The task: a Gymnasium id, a function that makes the env, or an env. A live model
            knows its own.
        output: What an ONNX file or a function returns: "action", "logits", "probabilities" or
            "q". Needed only where it cannot be inferred.
        output_name: Which output of an ONNX file to use.
        temperature: Follow Q-values by softmax(Q / T), or sharpen or flatten probabilities. 0 is
            greedy.
        normalise: Statistics of SB3's VecNormalize: the object, (mean, var), a .npz file with
            both, or its .pkl file. False ignores a live model's own, and those beside a zip.
        trust: Allow an SB3 zip to run its pickled code, and an ONNX file to hold any operators, to
            open files beside it and to cost what it costs. For your own files only.
        name: What messages call the core.
        env_kwargs: Arguments of the env.
        warn: Called with a sentence where statistics of a VecNormalize seem to be missing.
        clip: Clip the actions of a function or an ONNX file to their bounds, for Box actions.
        masks: Let it choose only among the actions that the env's `action_masks()` allow, as
            MaskablePPO does anyway.

    Returns:
        A `Core`; for an env with Box actions, a `ContinuousCore`.

    Raises:
        InputError: The policy cannot be used as a core, or does not fit the env.
    """
    if output is not None and output not in OUTPUT_KINDS:
        raise InputError(f"output is '{output}'{nearest(str(output), OUTPUT_KINDS)}")
    if isinstance(core, Core | ContinuousCore):
        return core
    options = CoreOptions(
        output, output_name, temperature, normalise, trust, name, env_kwargs, warn, clip, masks
    )
    source = find_trained(Path(core)) if isinstance(core, str | os.PathLike) else core
    for loader in LOADERS:
        if loader.accepts(source):
            return loader.load(source, env, options)
    raise _unknown(source)


def read_env(core: Any, env: Any, options: CoreOptions) -> tuple[gym.Space[Any], Spaces]:
    """The spaces of the env that a loader was given; see `read_spaces`.

    Raises:
        InputError: No env was given.
    """
    if env is None:
        raise InputError(
            f"the env of {source_name(core)} is not known: give its Gymnasium id, a function that "
            "makes it, or the env itself"
        )
    return read_spaces(env, options.env_kwargs)


def source_name(core: Any) -> str:
    """What messages call something that shall become a core."""
    if isinstance(core, Path):
        return core.name
    return getattr(core, "__name__", None) or type(core).__name__


def _unknown(source: Any) -> InputError:
    """The error for something that no loader accepts."""
    if not isinstance(source, Path):
        return InputError(
            f"a core cannot be made of {source_name(source)}: give a Stable-Baselines3 model or "
            "zip, an ONNX file, a callable, or one of our policies"
        )
    if not os.path.exists(source):  # unlike `Path.exists`, it never raises
        regular_file(source)  # raises, and says why it cannot be opened
    if source.is_dir():
        return InputError(
            f"{source} holds no policy: expected a run folder with policy.safetensors, or a "
            "Stable-Baselines3 zip such as best_model.zip"
        )
    return InputError(
        f"{source} ends in '{source.suffix}': expected a Stable-Baselines3 .zip, an .onnx file, "
        "a policy.safetensors, or a folder"
    )
