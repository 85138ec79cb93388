"""Smoothing inside the env, for people who cannot change their agent."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.interop.description import (
    Controller,
    Model,
    controller_of,
    model_of,
    model_of_core,
)
from policy_inertia.policies.cores import Core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.spaces_with_core import SpacesWithCore


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
        if controller.spaces.to_dict() != spaces.to_dict():
            raise InputError(
                f"{controller} acts on {controller.spaces} and the env has {spaces}: put the "
                "wrapper where the env gives the observations that the controller was trained on"
            )
        self.model: Model | None = None  # None: the controller must be asked as it stands
        if isinstance(controller, Policy):
            model = None if isinstance(controller.spaces, SpacesWithCore) else model_of(controller)
            if model is not None and (model.controller is None or model.controller.plain):
                self.model = model
        elif controller.layers is not None:
            self.model = model_of_core(controller)
        if self.tau is None and not (isinstance(controller, Policy) and controller.nested):
            raise InputError(
                f"{controller} has no inertia controller: say hysteresis=..., the gain that a new "
                "action must bring, or give a policy trained with nsac or ndqn"
            )
        self.gate: Controller | None = None  # of a dial: it judges the agent's action itself
        if self.tau is None and isinstance(controller, Policy) and controller.deterministic:
            self.gate = controller_of(controller)
        self.controller, self.deterministic = controller, deterministic
        self.n_actions: int = spaces.discrete.n
        self.rng = np.random.default_rng()

    def held(self, obs: np.ndarray, prev: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Where the previous action replaces the agent's; never without one."""
        held = (prev >= 0) & (action != prev)
        rows = np.flatnonzero(held)  # nothing needs to be computed for the others
        if not len(rows):
            return held
        obs, prev, action = obs[rows], prev[rows], action[rows]
        if self.gate is not None:
            q, each = self.gate.values(obs, prev, self.n_actions), np.arange(len(rows))
            held[rows] = q[each, prev] >= q[each, action]
        elif self.tau is None:
            asked: Any = self.model or self.controller
            mu = asked.inertia(obs, prev)
            held[rows] = mu >= 0.5 if self.deterministic else self.rng.random(len(mu)) < mu
        else:
            scores, each = self._scores(obs, prev), np.arange(len(rows))
            held[rows] = scores[each, action] - scores[each, prev] < self.tau
        return held

    def held_one(self, obs: Any, prev: int, action: int) -> bool:
        """The same for one env, without an array for each number."""
        if prev < 0 or action == prev:
            return False
        obs = np.asarray(obs)[None]
        if self.gate is not None:
            return self.gate.holds_one(obs, prev, action, self.n_actions)
        if self.tau is None:
            if self.model is not None:
                mu = self.model.inertia_of_one(obs, prev)
            else:
                assert isinstance(self.controller, Policy)
                mu = float(self.controller.inertia(obs, prev)[0])
            return mu >= 0.5 if self.deterministic else self.rng.random() < mu
        scores = self._scores(obs, [prev])[0]
        return bool(scores[action] - scores[prev] < self.tau)

    def _scores(self, obs: np.ndarray, prev: Any) -> np.ndarray:
        """Scores whose differences are those of Q or of log-probabilities."""
        if isinstance(self.controller, Core) and self.model is None:
            return self.controller.acting(obs).scores
        if self.model is not None and self.model.controller is None:
            scores = self.model.scores(obs)
            hot = self.model.kind == "logits" and self.model.temperature not in (0, 1)
            return scores / self.model.temperature if hot else scores
        assert isinstance(self.controller, Policy)
        encoded = self.controller.spaces.encode(obs)
        return self.controller.acting(encoded, np.asarray(prev)).scores


class SmoothActions(gym.Wrapper):
    """An env in which an agent's action may be replaced by the one before it.

    With a policy trained by nsac or ndqn as `controller`, the last action is held with probability
    mu(s, a_prev): an agent that acts like the core then follows the mixed policy. `deterministic`
    holds where mu is at least 0.5. A dial's gate holds where repeating is worth as much to it, at
    its price of switching, as the agent's action. With `hysteresis`, the last action is held unless
    the agent's is better by that much for the controller, any `Policy` or a core from `load_core`:
    in Q, or in log-probability. `info` says what was done: `action_taken`, and whether it was
    `held` against the agent's.
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
        self._first = spaces.discrete.first
        self._obs: Any = None
        self._prev = -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: there is nothing to hold yet."""
        if seed is not None:
            self._filter.rng = np.random.default_rng(seed)
        self._prev = -1
        self._obs, info = self.env.reset(seed=seed, options=options)
        return self._obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the agent's action, or hold the last one."""
        if self._obs is None:
            raise InputError("there is no episode to step in: reset the env first")
        wanted = int(action) - self._first
        held = self._filter.held_one(self._obs, self._prev, wanted)
        if not held:
            self._prev = wanted
        taken = self._prev + self._first
        self._obs, reward, terminated, truncated, info = self.env.step(taken)
        info = {**info, "action_taken": taken, "held": held}
        return self._obs, reward, terminated, truncated, info
