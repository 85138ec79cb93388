"""A core: a frozen policy, from any program; `core_loaders.load_core` makes one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions.bucket import Limit
from policy_inertia.actions.switching import Switching
from policy_inertia.algorithms.interface import Acting
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import Layers, memory_shapes, run
from policy_inertia.policies.core_features import Consulted, run_core
from policy_inertia.policies.core_outputs import GREEDY, acting_of, allowed_actions
from policy_inertia.policies.filtered import Filtered
from policy_inertia.policies.head_filters import Threshold
from policy_inertia.policies.memory import PREVIOUS_ACTION, Filter, State, memory_of
from policy_inertia.policies.probing import (
    OutputFunction,
    OutputKind,
    check_output,
    example_observations,
    gym_space,
)
from policy_inertia.policies.switch_rules import switch_filters

DIGEST_OBSERVATIONS = 256  # a core's best actions on these tell it from other cores


def default_temperature(kind: OutputKind) -> float:
    """Q-values are followed greedily; probabilities and logits are used as they are."""
    return GREEDY if kind == "q" else 1.0


class Core(Filtered):
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
        switching: Switching | None = None,
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
        self.switching = switching
        self.filters: tuple[Filter, ...] = switch_filters(
            spaces.actions, masked, hysteresis, limit, switching
        )
        self.remembered = memory_shapes(layers or ())
        self.memory = memory_of(spaces.actions, self.filters, self.remembered)
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

        A core that remembers is asked as at the start of an episode; see `consult`.

        Args:
            obs: The env's observations.
            action_masks: (B, A) which actions are allowed; None for all.
        """
        return self._acting(self.output(obs), action_masks)

    def consult(
        self, obs: ArrayLike, memory: Mapping[str, np.ndarray], action_masks: Any = None
    ) -> Consulted:
        """Ask a core whose network is known, and which may remember.

        Args:
            obs: A batch of the env's observations.
            memory: Its memory, among other things perhaps; zeros where it is missing.
            action_masks: As in `acting`.
        """
        obs = self.spaces.read_batch(obs, self.name)
        assert self.layers is not None
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            values, features, after = run_core(self.layers, obs, memory)
        values = check_output(values, self.kind, len(obs), self.spaces, self.name)
        return Consulted(self._acting(values, action_masks), features, after)

    def _acting(self, values: np.ndarray, action_masks: Any) -> Acting:
        actions = self.spaces.actions
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
        observation: ArrayLike | Mapping[str, ArrayLike],
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, State]:
        """Choose actions as `Policy.predict` does; the state is the previous action, the tokens of
        a limit, and what the core itself remembers."""
        obs = self.spaces.flat(observation)
        single = obs.shape == self.spaces.obs_shape
        obs = obs[None] if single else obs
        state = self.memory.at(state, len(obs), episode_start)
        fields: State = {}
        if self.remembered:
            acting, _, fields = self.consult(obs, state, action_masks)
        else:
            acting = self.acting(obs, action_masks)
        action = acting.policy.mode() if deterministic else acting.policy.sample(self._rng)
        for rule in self.filters:
            action, own = rule.step(action, acting.scores, state)
            fields |= own
        env_action = self.spaces.actions.to_env(action)
        return (env_action[0] if single else env_action), {**fields, PREVIOUS_ACTION: action}

    def replace(self, **changes: Any) -> Core:
        """The same core with other filters: hysteresis, limit, switching."""
        temperature = None if self.kind == "action" else self.temperature
        filters = {name: getattr(self, name) for name in ("hysteresis", "limit", "switching")}
        return Core(
            self.name,
            self.spaces,
            self.kind,
            self._function,
            temperature,
            self.layers,
            self.space,
            masked=self.masked,
            **{**filters, **changes},
        )

    def __repr__(self) -> str:
        extra = "" if self.hysteresis is None else f", hysteresis={self.hysteresis}"
        extra += "" if self.limit is None else f", limit={self.limit}"
        extra += "" if self.switching is None else f", {self.switching}"
        return f"Core({self.name}, {self.kind}{extra})"
