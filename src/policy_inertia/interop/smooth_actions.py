"""Smoothing inside the env, for people who cannot change their agent."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from ..envs import Spaces
from ..policy import Policy
from ..types import InputError
from .cores import Core
from .model import Model, model_of


class Filter:
    """Decides for a batch whether the agent's action goes through or the last one is held."""

    def __init__(
        self, controller: Policy | Core, hysteresis: float | None, deterministic: bool, spaces: Any
    ) -> None:
        if not isinstance(controller, Policy | Core):
            raise InputError(
                f"the controller is {type(controller).__name__}: give a Policy, or a core from "
                "load_core"
            )
        self.tau = controller.hysteresis if hysteresis is None else hysteresis
        if self.tau is not None and not self.tau >= 0:
            raise InputError(f"hysteresis is {self.tau}: give a threshold of 0 or more")
        if self.tau is not None and isinstance(controller, Core):
            controller.with_hysteresis(self.tau)  # refuses a core that gives actions alone
        if controller.spaces != spaces:
            raise InputError(
                f"{controller} acts on {controller.spaces} and the env has {spaces}: put the "
                "wrapper where the env gives the observations that the controller was trained on"
            )
        self.model: Model | None = None
        if isinstance(controller, Policy):
            self.model = model_of(controller)
        if self.tau is None and (self.model is None or self.model.controller is None):
            raise InputError(
                f"{controller} has no inertia controller: say hysteresis=..., the gain that a new "
                "action must bring, or give a policy trained with nsac or ndqn"
            )
        self.controller, self.deterministic = controller, deterministic
        self.rng = np.random.default_rng()

    def held(self, obs: np.ndarray, prev: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Where the previous action replaces the agent's; never without one."""
        other = (prev >= 0) & (action != prev)
        if self.tau is None:
            assert self.model is not None
            mu = self.model.inertia(obs, prev)
            return other & (mu >= 0.5 if self.deterministic else self.rng.random(len(mu)) < mu)
        rows = np.arange(len(obs))
        scores = self._scores(obs, prev)
        return other & (scores[rows, action] - scores[rows, prev] < self.tau)

    def _scores(self, obs: np.ndarray, prev: np.ndarray) -> np.ndarray:
        if isinstance(self.controller, Core):
            return self.controller.acting(obs).scores
        assert self.model is not None
        if self.model.controller is None:
            return self.model.scores(obs)  # differences of logits are those of log-probabilities
        return self.controller.acting(self.controller.spaces.encode(obs), prev).scores


class SmoothActions(gym.Wrapper):
    """An env in which an agent's action may be replaced by the one before it.

    With a policy trained by nsac or ndqn as `controller`, the last action is held with probability
    mu(s, a_prev): an agent that acts like the core then follows the mixed policy. `deterministic`
    holds where mu is at least 0.5. With `hysteresis`, the last action is held unless the agent's
    is better by that much for the controller, any `Policy` or a core from `load_core`: in Q, or in
    log-probability. `info` says what was done: `action_taken`, and whether it was `held` against
    the agent's.
    """

    def __init__(
        self,
        env: gym.Env,
        controller: Policy | Core,
        hysteresis: float | None = None,
        deterministic: bool = False,
    ) -> None:
        super().__init__(env)
        spaces = Spaces.of(env.observation_space, env.action_space, type(env.unwrapped).__name__)
        self._filter = Filter(controller, hysteresis, deterministic, spaces)
        self._first = spaces.first_action
        self._obs: Any = None
        self._prev = np.array([-1])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: there is nothing to hold yet."""
        if seed is not None:
            self._filter.rng = np.random.default_rng(seed)
        self._prev = np.array([-1])
        self._obs, info = self.env.reset(seed=seed, options=options)
        return self._obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the agent's action, or hold the last one."""
        if self._obs is None:
            raise InputError("there is no episode to step in: reset the env first")
        wanted = np.array([int(action) - self._first])
        held = bool(self._filter.held(np.asarray(self._obs)[None], self._prev, wanted)[0])
        if not held:
            self._prev = wanted
        taken = int(self._prev[0]) + self._first
        self._obs, reward, terminated, truncated, info = self.env.step(taken)
        info = {**info, "action_taken": taken, "held": held}
        return self._obs, reward, terminated, truncated, info
