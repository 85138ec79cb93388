"""A frozen policy with continuous actions: measured, filtered and limited, never trained."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.actions.box import Box
from policy_inertia.algorithms.interface import Traits
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.metrics.filter_curve import FilterCurve
from policy_inertia.networks.layers import Layers, run
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.action_filters.action_filter import (
    ActionFilter,
    Dimension,
    read_dimensions,
)
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.continuous_file import (
    ContinuousParts,
    read_continuous,
    write_continuous,
)
from policy_inertia.policies.continuous_function import clipped, digest
from policy_inertia.policies.memory import (
    PREVIOUS_ACTION,
    Filter,
    State,
    handed_over,
    memory_of,
)
from policy_inertia.policies.probing import (
    OutputFunction,
    OutputKind,
    example_observations,
    gym_space,
)
from policy_inertia.schema import in_file

EXAMPLES = 3
"""Observations on which a policy is tried when it is loaded."""
NO_SCORES = np.zeros(0)


class ContinuousCore:
    """A frozen policy without memory for an env with Box actions, and its filters.

    Attributes:
        name: What messages call it.
        spaces: The spaces of the env that it acts on.
        layers: Its network, from the env's observations to the env's actions; None if unknown.
        space: The observation space, with its bounds where they are known.
        dimensions: What each number of an action means; see `with_dimensions`.
        rule: The filter of `with_filter`; None without one.
        limit: The limit of `with_limit`; None without one.
        curve: What the filter does at each of its settings; None before `calibrate_filter`.
        task: Name of the env; empty if it is not known.
        env_kwargs: Arguments of that env.
    """

    kind: OutputKind = "action"
    traits = Traits(scores="values", deterministic=True, frozen=True)
    nested, deterministic = traits.nested, traits.deterministic

    def __init__(
        self,
        name: str,
        spaces: Spaces,
        function: OutputFunction,
        layers: Layers | None = None,
        space: gym.Space[Any] | None = None,
        dimensions: Dimension | Sequence[Dimension] = "absolute",
        rule: Rule | None = None,
        limit: MovementLimit | None = None,
        curve: FilterCurve | None = None,
        task: str = "",
        env_kwargs: dict[str, Any] | None = None,
    ) -> None:
        assert isinstance(spaces.actions, Box), "only for continuous actions"
        self.name, self.spaces, self.layers = name, spaces, layers
        self.task, self.env_kwargs = task, env_kwargs or {}
        self.actions: Box = spaces.actions
        self.space = gym_space(spaces) if space is None else space
        self.dimensions = read_dimensions(dimensions, self.actions)
        self.rule, self.limit, self.curve = rule, limit, curve
        self.filters: tuple[Filter, ...] = ()
        for part, role in ((rule, "filter"), (limit, "limit")):  # the limit has the last word
            if part is not None:
                self.filters += (ActionFilter(part, self.actions, self.dimensions, role),)
        self.memory = memory_of(self.actions, self.filters)
        self._function = function

    @classmethod
    def loaded(
        cls,
        name: str,
        spaces: Spaces,
        function: OutputFunction,
        space: gym.Space[Any],
        clip: bool = False,
        layers: Layers | None = None,
    ) -> ContinuousCore:
        """Somebody's policy as a core, tried on a few observations.

        Args:
            name: What messages call it.
            spaces: The env's spaces.
            function: From a batch of the env's observations to the env's actions.
            space: The env's observation space.
            clip: Clip its actions to their bounds.
            layers: Its network, if it is known.

        Raises:
            InputError: Its actions do not fit the env.
        """
        if clip:
            function = partial(clipped, function, spaces.actions)
        core = cls(name, spaces, function, layers, space)
        core.output(example_observations(space, EXAMPLES))
        return core

    @classmethod
    def from_layers(
        cls, name: str, spaces: Spaces, layers: Layers, space: gym.Space[Any]
    ) -> ContinuousCore:
        """A core whose network is known, and which NumPy runs."""
        return cls.loaded(name, spaces, partial(run, layers), space, layers=layers)

    def output(self, obs: ArrayLike) -> np.ndarray:
        """The policy's own actions, checked and scaled to [-1, 1]: `(n, d)`."""
        obs = self.spaces.read_batch(obs, self.name)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            values = np.asarray(self._function(obs))
        return self.actions.read(values, len(obs), self.name)

    def predict(
        self,
        observation: ArrayLike,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, State]:
        """Choose actions for one observation or a batch, as SB3's recurrent policies do.

        The policy's noise is left out: its mean action is taken, whether `deterministic` or not.

        Args:
            observation: One observation, or a batch of them.
            state: The state that the last call returned; None at the start.
            episode_start: Which envs start a new episode: there the filters start afresh.
            deterministic: Makes no difference.

        Returns:
            The env's actions, and the state for the next call.
        """
        obs = self.spaces.flat(observation)
        single = obs.shape == self.spaces.obs_shape
        obs = obs[None] if single else obs
        state = self.memory.at(state, len(obs), episode_start)
        state = self.filtered(self.output(obs), state)
        env_action = self.actions.to_env(state[PREVIOUS_ACTION])
        return (env_action[0] if single else env_action), state

    def filtered(self, action: np.ndarray, state: State) -> State:
        """The state after a step in which the policy itself wants these actions, `(n, d)`; its
        previous action is the action to take."""
        fields: State = {}
        for rule in self.filters:
            action, own = rule.step(action, NO_SCORES, state)
            fields |= own
        return {**fields, PREVIOUS_ACTION: action}

    def reset_to(self, action: ArrayLike) -> State:
        """The state after somebody else, such as a person, has taken an action: a hand-over.

        The filters start from this action, so the policy's first one does not jump. A limit starts
        with a full bucket.

        Args:
            action: The env's action that was taken last, or a batch of them.
        """
        return handed_over(self.memory, self.actions, action)

    def with_filter(self, rule: Rule | None) -> ContinuousCore:
        """The same policy behind a filter, such as `Exponential(0.3)`; None takes it away.

        Safe in mid-episode: keep passing the same state. A new filter starts from the last action.
        """
        return self._with(rule=rule, curve=None)

    def with_limit(
        self, rate: float, burst: float = 1.0, per_dimension: bool = False
    ) -> ContinuousCore:
        """The same policy, whose actions move by at most `burst + rate * n` in n steps, always.

        Movement is |a_t - a_{t-1}| as a share of the range, the mean over the numbers of an action
        or, with `per_dimension`, each number for itself. See `MovementLimit`.
        """
        return self.within(MovementLimit(rate, burst, per_dimension))

    def within(self, limit: MovementLimit | None) -> ContinuousCore:
        """The same policy within a limit on movement, or without one.

        Raises:
            InputError: The limit is one on switching.
        """
        if limit is not None and not isinstance(limit, MovementLimit):
            raise InputError(
                f"the limit is {limit}, which counts switches, and the actions are continuous: "
                "give MovementLimit(rate, burst), which bounds their movement"
            )
        return self._with(limit=limit, curve=None)

    def with_hysteresis(self, tau: float) -> ContinuousCore:
        """Raise an `InputError`: continuous actions have no scores that hysteresis compares."""
        raise InputError(
            f"the actions of {self.name} are continuous, and hysteresis compares the scores of "
            "Discrete ones: put a filter around it, such as with_filter(DeadBand(0.05))"
        )

    def on(self, task: str, env_kwargs: dict[str, Any] | None = None) -> ContinuousCore:
        """The same policy with the name of its env, and that env's arguments."""
        return self._with(task=task, env_kwargs=env_kwargs)

    def core(self) -> ContinuousCore:
        """The policy without its filter and its limit."""
        return self._with(rule=None, limit=None, curve=None)

    def with_dimensions(self, dimensions: Dimension | Sequence[Dimension]) -> ContinuousCore:
        """The same policy, with each number of its actions declared.

        Args:
            dimensions: "absolute", "delta" or "untouched" for all numbers, or a list with one for
                each. Filters and limits smooth a position; the position of deltas is their sum. And
                they leave alone what must not be touched, such as a gripper.
        """
        return self._with(dimensions=dimensions, curve=None)

    @property
    def setting_name(self) -> str:
        """The setting of the filter that makes it smoother or looser.

        Raises:
            InputError: There is no filter.
        """
        if self.rule is None:
            raise InputError(
                f"{self.name} has no filter, so there is nothing to set: let smooth choose one, or "
                "give it one with with_filter(Exponential(0.3))"
            )
        return self.rule.adjustable

    @property
    def setting(self) -> float | None:
        """The value of that setting; None without a filter."""
        return None if self.rule is None else getattr(self.rule, self.rule.adjustable)

    @property
    def settings(self) -> dict[str, Any]:
        """The filter and the limit as JSON."""
        return {
            "filter": self.rule and rule_table.to_dict(self.rule),
            "limit": self.limit and rule_table.settings_of(self.limit),
        }

    @property
    def method(self) -> str:
        """What tables call the policy."""
        return self.name

    @property
    def digest(self) -> str:
        """A hash of its own actions at a few observations: it tells one policy from another."""
        return digest(self._function, self.actions, self.space)

    def with_setting(self, setting: float) -> ContinuousCore:
        """The same policy with its filter at another setting."""
        name, rule = self.setting_name, self.rule
        return self._with(rule=replace(rule, **{name: setting}))  # type: ignore[type-var]

    def with_budget(self, max_fluctuation: float) -> ContinuousCore:
        """The same policy with its filter as loose as a budget allows, by its measured curve.

        This is a measured mean; `with_limit` is always kept.

        Args:
            max_fluctuation: The budget: movement per step, as a share of the range.

        Raises:
            InputError: The filter was not calibrated, or cannot reach the budget.
        """
        if self.curve is None:
            raise InputError(
                f"the filter of {self.name} was not calibrated: measure it first, with "
                "calibrate_filter(policy, env)"
            )
        return self.with_setting(self.curve.within(max_fluctuation).setting)

    def calibrated(self, curve: FilterCurve) -> ContinuousCore:
        """The same policy with the curve of its filter."""
        return self._with(curve=curve)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy, its filter, its limit and its curve to one safetensors file.

        A file cannot hold a function or an ONNX file: `load` then asks for it again.
        """
        parts = {field.name: getattr(self, field.name) for field in fields(ContinuousParts)}
        write_continuous(Path(path), ContinuousParts(**parts))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        core: ContinuousCore | None = None,
        trust: bool = False,
    ) -> ContinuousCore:
        """Read what `save` wrote; nothing in the file can run code.

        Args:
            path: The file, or the folder of `smooth`.
            core: The policy itself from `load_core`, where the file could not hold it.
            trust: Let the file choose the env that commands make by default; see `Policy.load`.

        Raises:
            InputError: The file is damaged, or `core` is missing or another policy.
        """
        parts = read_continuous(Path(path), trust)
        with in_file(path):
            function, layers, space = _restored_core(parts, core)
            return cls(
                parts.name,
                parts.spaces,
                function,
                layers,
                space,
                parts.dimensions,
                parts.rule,
                parts.limit,
                parts.curve,
                parts.task,
                parts.env_kwargs,
            )

    def _with(self, **changes: Any) -> ContinuousCore:
        names = ("dimensions", "rule", "limit", "curve", "task", "env_kwargs")
        parts = {name: getattr(self, name) for name in names}
        return ContinuousCore(
            self.name,
            self.spaces,
            self._function,
            self.layers,
            self.space,
            **{**parts, **changes},
        )

    def __repr__(self) -> str:
        extra = "".join(f", {part}" for part in (self.rule, self.limit) if part is not None)
        return f"ContinuousCore({self.name}{extra})"


def _restored_core(
    parts: ContinuousParts, core: ContinuousCore | None
) -> tuple[OutputFunction, Layers | None, gym.Space[Any] | None]:
    """Function, network and observation space of a file's policy, or of the one that is given."""
    if core is None:
        if parts.layers is None:
            raise InputError(
                f"it is about {parts.name}, which a file cannot hold: give it again, as "
                "ContinuousCore.load(path, core=load_core(...)), or with --core"
            )
        return partial(run, parts.layers), parts.layers, None
    if not isinstance(core, ContinuousCore):
        raise InputError(f"the core is {type(core).__name__}: give what load_core returned")
    if core.spaces != parts.spaces or core.digest != parts.digest:
        raise InputError(
            f"it is about {parts.name}, and {core.name} acts differently or on another env: give "
            "exactly the same policy"
        )
    return core._function, core.layers, core.space
