"""What acts: a trained policy on the host, in Stable-Baselines3's recurrent convention.

The memory that `predict` carries along as its state is the previous action.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .algorithms import Acting, Config, NestedConfig, build, config_from_dict, find_method
from .checkpoint import flatten, read_arrays, unflatten, write_arrays
from .envs import Spaces
from .envs.transforms import split
from .types import Array, InputError, Spec, Tree

if TYPE_CHECKING:
    from .envs import EnvLike
    from .interop.onnx import Exported

State = tuple[np.ndarray, ...]


def sample(log_pi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One action for each row of log-probabilities; an action of probability 0 is never drawn."""
    cumulative = np.exp(log_pi).cumsum(axis=1)
    u = rng.random(len(log_pi)) * cumulative[:, -1]
    return (cumulative <= u[:, None]).sum(axis=1)


class Policy:
    """A policy over (observation, previous action), ready to act.

    Load one with `Policy.load(path)`; a run folder holds `policy.safetensors` (the last) and
    `best.safetensors` (the best evaluation).
    """

    def __init__(
        self,
        method: str,
        config: Config,
        spaces: Spaces,
        params: Tree,
        repeats: tuple[int, ...] = (1,),
        hysteresis: float | None = None,
        task: str = "",
        env_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if hysteresis is not None and not hysteresis >= 0:
            raise InputError(f"hysteresis is {hysteresis}: give a threshold of 0 or more")
        if hysteresis is not None and repeats != (1,):
            raise InputError(
                f"{method} holds its actions by itself: put hysteresis around a method "
                "that decides at every step"
            )
        self.method, self.config, self.spaces, self.params = method, config, spaces, params
        self.repeats, self.hysteresis, self.task = repeats, hysteresis, task
        self.env_kwargs = env_kwargs or {}
        self._apply = build(config, _choice_spec(spaces, repeats)).apply
        self._rng = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Make the sampled actions that follow reproducible."""
        self._rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: Array,
        state: State | None = None,
        episode_start: Array | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, State]:
        """Choose actions for one observation or a batch, as SB3's recurrent policies do.

        Pass the returned state to the next call, and in `episode_start` which envs begin a new
        episode. `deterministic` takes the most probable action instead of sampling one.
        """
        obs, single = self._batch(observation)
        n = len(obs)
        prev = np.full(n, -1) if state is None else np.asarray(state[0]).reshape(n)
        if episode_start is not None:
            prev = np.where(np.asarray(episode_start, bool).reshape(n), -1, prev)

        acting = self.acting(obs, prev)
        choice = acting.log_pi.argmax(1) if deterministic else sample(acting.log_pi, self._rng)
        if self.repeats != (1,):
            action, hold = split(choice, self.repeats)
            remaining = np.zeros(n, int) if state is None else np.asarray(state[1]).reshape(n)
            idle = (remaining == 0) | (prev < 0)
            action = np.where(idle, action, prev)
            state = (action, np.where(idle, hold, remaining) - 1)
        else:
            action = choice
            if self.hysteresis is not None:
                action = apply_hysteresis(acting.scores, prev, choice, self.hysteresis)
            state = (action,)
        action = action + self.spaces.first_action
        return (action[0] if single else action), state

    def acting(self, obs: np.ndarray, prev_action: np.ndarray) -> Acting:
        """Everything the policy says of a batch of encoded observations."""
        return self._apply(self.params, obs, prev_action, np)

    def probabilities(self, observation: Array, prev_action: Array = -1) -> np.ndarray:
        """pi(.|s, a_prev), Equation (mixed_policy); `prev_action` counts from 0, -1 means none.

        For a method that also chooses how long to hold, this is the marginal over its actions.
        Hysteresis is a rule about what to do with these, and not part of them.
        """
        acting, single = self._query(observation, prev_action)
        pi = np.exp(acting.log_pi).reshape(len(acting.log_pi), -1, len(self.repeats)).sum(2)
        return pi[0] if single else pi

    def core_probabilities(self, observation: Array) -> np.ndarray:
        """pi_core(.|s): what the core alone would do (the same policy where nothing is nested)."""
        acting, single = self._query(observation, -1)
        pi = np.exp(acting.log_pi_core).reshape(len(acting.log_pi), -1, len(self.repeats)).sum(2)
        return pi[0] if single else pi

    def inertia(self, observation: Array, prev_action: Array = -1) -> np.ndarray:
        """mu(s, a_prev); 0 without a previous action, and for methods that have no controller."""
        acting, single = self._query(observation, prev_action)
        return acting.mu[0] if single else acting.mu

    @property
    def nested(self) -> bool:
        """Whether an inertia controller is part of the policy."""
        return isinstance(self.config, NestedConfig)

    def core(self) -> Policy:
        """The policy without its controller."""
        if not isinstance(self.config, NestedConfig):
            return self
        return Policy(
            f"{self.method} (core)",
            self.config.core,
            self.spaces,
            self.params.core,
            self.repeats,
            self.hysteresis,
            self.task,
            self.env_kwargs,
        )

    def with_hysteresis(self, tau: float) -> Policy:
        """The same policy, which keeps its last action unless a new one is better by `tau`.

        "Better" is in log-probability, or in Q for DQN; an action that is as good as the last one
        plus `tau` is taken. `tau=0` leaves a greedy policy as it is.
        """
        return Policy(
            self.method,
            self.config,
            self.spaces,
            self.params,
            self.repeats,
            tau,
            self.task,
            self.env_kwargs,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to one safetensors file (no pickle)."""
        about = {
            "kind": "policy",
            "method": self.method,
            "config": dataclasses.asdict(self.config),
            "spaces": dataclasses.asdict(self.spaces),
            "repeats": self.repeats,
            "hysteresis": self.hysteresis,
            "task": self.task,
            "env_kwargs": self.env_kwargs,
        }
        write_arrays(Path(path), flatten(self.params, "policy"), about)

    def export(self, path: str | os.PathLike[str]) -> Exported:
        """Write the policy to one ONNX file, compared with this one; see `interop.onnx.export`."""
        from .interop.onnx import export

        return export(self, path)

    def model_card(
        self, folder: str | os.PathLike[str], env: EnvLike | None = None, episodes: int = 20
    ) -> list[Path]:
        """Write a folder for the Hugging Face Hub; see `interop.cards.model_card`."""
        from .interop.cards import model_card

        return model_card(self, folder, env, episodes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read what `save` wrote, or a run folder's last policy; nothing in it can run code."""
        path = Path(path)
        if path.is_dir():
            path = path / "policy.safetensors"
        arrays, about = read_arrays(path)
        if about.get("kind") != "policy":
            raise InputError(
                f"{path} holds no policy: give a policy.safetensors, or the run folder it is in"
            )
        name = about["method"].removesuffix(" (core)")
        template: Any = find_method(name).config
        if name != about["method"]:
            template = template.core
        config = config_from_dict(template, about["config"])
        known = about["spaces"]
        spaces = Spaces(**{**known, "obs_shape": tuple(known["obs_shape"])})
        repeats = tuple(about["repeats"])
        algorithm = build(config, _choice_spec(spaces, repeats))
        shapes = jax.eval_shape(lambda: algorithm.acting(algorithm.init(np.random.default_rng())))
        params = unflatten(shapes, arrays, "policy", path)
        return cls(
            about["method"],
            config,
            spaces,
            params,
            repeats,
            about["hysteresis"],
            about["task"],
            about["env_kwargs"],
        )

    def _batch(self, observation: Array) -> tuple[np.ndarray, bool]:
        observation = np.asarray(observation)
        expected = self.spaces.obs_shape
        if observation.shape == expected:
            return self.spaces.encode(observation[None]), True
        if observation.ndim == len(expected) + 1 and observation.shape[1:] == expected:
            return self.spaces.encode(observation), False
        raise InputError(
            f"the observation has shape {observation.shape}: this policy was trained on "
            f"{self.task or 'a task'} with shape {expected}, so give that or a batch of it"
        )

    def _query(self, observation: Array, prev_action: Array) -> tuple[Acting, bool]:
        obs, single = self._batch(observation)
        prev = np.broadcast_to(np.asarray(prev_action), len(obs))
        if prev.min(initial=0) < -1 or prev.max(initial=0) >= self.spaces.n_actions:
            raise InputError(
                f"prev_action holds {prev.min()} to {prev.max()}: expected 0 to "
                f"{self.spaces.n_actions - 1}, or -1 at the start of an episode"
            )
        return self.acting(obs, prev), single

    def __repr__(self) -> str:
        extra = "" if self.hysteresis is None else f", hysteresis={self.hysteresis}"
        return f"Policy({self.method} on {self.task or 'a task'}{extra})"


def _choice_spec(spaces: Spaces, repeats: tuple[int, ...]) -> Spec:
    return spaces.spec._replace(n_actions=spaces.n_actions * len(repeats))


def apply_hysteresis(
    scores: np.ndarray, prev: np.ndarray, new: np.ndarray, tau: float
) -> np.ndarray:
    """`new` where there is no previous action or `new` is better than it by `tau`, else `prev`."""
    rows = np.arange(len(scores))
    gain = scores[rows, new] - scores[rows, prev]
    return np.where((prev < 0) | (gain >= tau), new, prev)
