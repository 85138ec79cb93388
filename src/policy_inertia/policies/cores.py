"""Anybody's policy as a core: `load_core` takes what people have and gives pi_core(.|s).

A core is frozen and has no memory. Stable-Baselines3 is read in `sb3.py`, ONNX in `onnx_core.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.algorithms.interface import Acting, plain
from policy_inertia.algorithms.losses import LOG_ZERO, log_greedy
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest
from policy_inertia.interop import onnx_in as onnx_core
from policy_inertia.interop import sb3
from policy_inertia.interop.description import (
    GREEDY,
    KINDS,
    Kind,
    Model,
    default_temperature,
    model_of,
)
from policy_inertia.networks.layers import Layers, run
from policy_inertia.networks.perceptron import log_softmax, one_hot
from policy_inertia.policies.policy import Policy, State, apply_hysteresis, sample
from policy_inertia.policies.probing import Ask, checked, examples, guess, space_of, spaces_of
from policy_inertia.types import Array


class Core:
    """A frozen policy without memory: pi_core(.|s), and scores to compare actions by.

    `name` says what it is, `spaces` what it acts on, `kind` what it gives: an action, logits,
    probabilities or Q-values. Those become probabilities with `temperature`: 0 takes the best
    action alone, 1 follows probabilities and logits as they are.
    """

    def __init__(
        self,
        name: str,
        spaces: Spaces,
        kind: Kind,
        ask: Ask,
        temperature: float | None = None,
        layers: Layers | None = None,
        space: gym.Space | None = None,
        hysteresis: float | None = None,
    ) -> None:
        if temperature is not None and not 0 <= temperature < np.inf:
            raise InputError(f"temperature is {temperature}: give 0 (greedy) or more")
        if temperature is not None and kind == "action":
            raise InputError(
                f"temperature is {temperature}, but {name} gives actions: a temperature needs "
                "Q-values, logits or probabilities, so leave it out"
            )
        if hysteresis is not None and not hysteresis >= 0:
            raise InputError(f"hysteresis is {hysteresis}: give a threshold of 0 or more")
        if hysteresis is not None and kind == "action":
            raise InputError(
                f"{name} gives actions alone, and hysteresis compares how good they are: give a "
                "core that gives Q-values, logits or probabilities"
            )
        self.name, self.spaces, self.kind, self.layers = name, spaces, kind, layers
        self.temperature = default_temperature(kind) if temperature is None else temperature
        self.hysteresis = hysteresis
        self.space = space_of(spaces) if space is None else space
        self._ask = ask
        self._rng = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Make the sampled actions that follow reproducible."""
        self._rng = np.random.default_rng(seed)

    def probabilities(self, obs: Array) -> np.ndarray:
        """pi_core(.|s) of a batch of the env's observations: (B, A), float32."""
        return np.exp(self.acting(obs).log_pi)

    def scores(self, obs: Array) -> np.ndarray | None:
        """What hysteresis compares, (B, A): Q-values or log-probabilities; None for actions."""
        return None if self.kind == "action" else self.acting(obs).scores

    def acting(self, obs: Array) -> Acting:
        """Everything the core says of a batch of the env's observations, in one call."""
        values = self.raw(obs)
        if self.kind == "action":
            log_pi = (1 - one_hot(values, self.spaces.n_actions, np)) * LOG_ZERO
            return plain(log_pi, log_pi)
        if self.kind == "probabilities":
            values = np.log(values, out=np.full_like(values, LOG_ZERO), where=values > 0)
        scores = values if self.kind == "q" else log_softmax(values / (self.temperature or 1), np)
        if self.temperature == GREEDY:
            return plain(log_greedy(scores, np), scores)
        log_pi = log_softmax(values / self.temperature, np) if self.kind == "q" else scores
        return plain(log_pi, scores)

    def raw(self, obs: Array) -> np.ndarray:
        """What the core itself gives, checked: actions counted from 0, or (B, A) float32."""
        obs = np.asarray(obs)
        expected = self.spaces.obs_shape
        if obs.shape[1:] != expected or obs.ndim == len(expected):
            raise InputError(
                f"the observations have shape {obs.shape}: {self.name} expects a batch of "
                f"{expected}"
            )
        return checked(self._ask(obs), self.kind, len(obs), self.spaces, self.name)

    def predict(
        self,
        observation: Array,
        state: State | None = None,
        episode_start: Array | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, State]:
        """Choose actions as `Policy.predict` does; the state is the previous action."""
        obs = np.asarray(observation)
        single = obs.shape == self.spaces.obs_shape
        obs = obs[None] if single else obs
        acting = self.acting(obs)
        action = acting.log_pi.argmax(1) if deterministic else sample(acting.log_pi, self._rng)
        if self.hysteresis is not None:
            prev = np.full(len(obs), -1) if state is None else np.asarray(state[0])
            if episode_start is not None:
                prev = np.where(np.asarray(episode_start, bool), -1, prev)
            action = apply_hysteresis(acting.scores, prev, action, self.hysteresis)
        env_action = action + self.spaces.first_action
        return (env_action[0] if single else env_action), (action,)

    def with_hysteresis(self, tau: float) -> Core:
        """The same core, which keeps its last action unless a new one is better by `tau`.

        "Better" is in Q for Q-values, in log-probability for logits and probabilities.
        """
        temperature = None if self.kind == "action" else self.temperature
        return Core(
            self.name,
            self.spaces,
            self.kind,
            self._ask,
            temperature,
            self.layers,
            self.space,
            tau,
        )

    def model(self) -> Model:
        """The core as layers, for ONNX; only where its network is known."""
        if self.layers is None:
            raise InputError(
                f"the network inside {self.name} is not known, so it cannot be written as ONNX: "
                "give a Stable-Baselines3 model with a standard MLP or Nature CNN policy"
            )
        return Model(
            self.spaces,
            self.layers,
            self.kind,
            self.temperature,
            hysteresis=self.hysteresis,
            about={"core": self.name, "method": "core"},
        )

    def __repr__(self) -> str:
        extra = "" if self.hysteresis is None else f", hysteresis={self.hysteresis}"
        return f"Core({self.name}, {self.kind}{extra})"


def load_core(
    core: Any,
    env: Any = None,
    *,
    output: Kind | None = None,
    output_name: str | None = None,
    temperature: float | None = None,
    normalise: Any = None,
    trust: bool = False,
    name: str | None = None,
    env_kwargs: dict[str, Any] | None = None,
) -> Core:
    """Take somebody's policy as a core.

    `core` may be a Stable-Baselines3, sb3-contrib or SBX model, an SB3 zip or the folder that RL
    Zoo keeps it in, an ONNX file, a callable from observations (one or a batch) to an action,
    probabilities, logits or Q-values, a run folder of ours, or a `Policy` (of a nested one, its
    core). `env` is the task, as an id, a function that makes it, or an env; a live model knows its
    own.

    `output` says what an ONNX file or a callable gives, where it cannot be found out, and
    `output_name` which output of a file. `normalise` takes the statistics of SB3's VecNormalize:
    the object, (mean, var), a .npz with both, or its .pkl with `trust=True`.

    `trust=True` lets an SB3 zip or a .pkl run its pickled code: do that with your own files only.
    """
    if output is not None and output not in KINDS:
        raise InputError(f"output is '{output}'{nearest(str(output), KINDS)}")
    if isinstance(core, Core):
        return core
    if isinstance(core, str | os.PathLike):
        path, normalise = _find(Path(core), normalise, trust)
        core = Policy.load(path) if path.suffix == ".safetensors" else path
    if isinstance(core, Policy):
        return _of_policy(core, env, temperature, name, env_kwargs)
    if env is None and not sb3.is_model(core):
        raise InputError(
            f"the env of {_describe(core)} is not known: give its Gymnasium id, a function that "
            "makes it, or the env itself"
        )
    space, spaces = spaces_of(core if env is None else env, env_kwargs)
    rescale = sb3.statistics(normalise, core, env, spaces, trust)
    tried = space if rescale is None else space_of(spaces)
    about = name or _describe(core)
    layers: Layers | None = None
    ask: Ask
    if isinstance(core, Path):
        if core.suffix == ".onnx":
            kind, ask = onnx_core.read(core, tried, spaces, output, output_name)
        else:
            kind, ask, layers = sb3.read_zip(core, space, spaces, rescale, trust)
    elif sb3.is_model(core):
        kind, ask, layers = sb3.read_model(core, space, spaces, rescale)
    else:
        function = _predictor(core, about) if hasattr(core, "predict") else core
        if not callable(function):
            raise InputError(
                f"a core cannot be made of {_describe(core)}: give a Stable-Baselines3 model or "
                "zip, an ONNX file, a callable, or one of our policies"
            )
        kind, ask = _of_callable(function, tried, spaces, output, about)
    if rescale is not None and layers is None:
        inner, first = ask, (rescale,)
        ask = lambda obs: inner(run(first, obs))  # noqa: E731
    return Core(about, spaces, kind, ask, temperature, layers, space)


def _of_callable(
    function: Callable[[Any], Any],
    space: gym.Space,
    spaces: Spaces,
    output: Kind | None,
    name: str,
) -> tuple[Kind, Ask]:
    """Find out by trying whether a callable takes batches, and what it gives."""
    n = 3 if spaces.n_actions == 2 else 2  # never as many as there are actions
    obs = examples(space, n)

    def one_by_one(obs: np.ndarray) -> np.ndarray:
        return np.array([np.asarray(function(o)).squeeze() for o in obs])

    try:
        answer = np.asarray(function(obs))
        batched = answer.shape[:1] == (n,) and answer.ndim <= 2
    except Exception:  # whatever a function made for one observation does with several
        batched = False
    if not batched:
        try:
            answer = one_by_one(obs)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise InputError(
                f"{name} fails on observations of shape {obs.shape[1:]}, alone and as a batch "
                f"({reason}): expected an action, probabilities or Q-values"
            ) from error
    kind = output or guess(answer, spaces, name)
    checked(answer, kind, n, spaces, name)
    return kind, function if batched else one_by_one


def _predictor(model: Any, name: str) -> Callable[[Any], Any]:
    """The greedy actions of anything that predicts as Stable-Baselines3's models do."""

    def act(obs: np.ndarray) -> np.ndarray:
        answer = model.predict(obs, deterministic=True)
        if not isinstance(answer, tuple):
            return answer
        if answer[1] is not None:
            raise InputError(
                f"{name} carries a state from step to step, and a core must not: give a policy "
                "without memory"
            )
        return answer[0]

    return act


def _of_policy(
    policy: Policy,
    env: Any,
    temperature: float | None,
    name: str | None,
    env_kwargs: dict[str, Any] | None,
) -> Core:
    """One of ours; only what does not depend on the previous action can be a core."""
    if policy.hysteresis is not None and not policy.nested:
        raise InputError(
            f"{policy} depends on its previous action, and a core must not: give it without "
            "its hysteresis"
        )
    core = policy.core()
    if env is not None:
        _, given = spaces_of(env, env_kwargs)
        if given.to_dict() != policy.spaces.to_dict():
            raise InputError(
                f"{policy} acts on {policy.spaces} and the env has {given}: give the env that it "
                "was trained on"
            )
    if isinstance(core.config, FrozenConfig):
        return policy.spaces.core  # type: ignore[attr-defined]
    if policy.hysteresis is not None:
        core = Policy(core.method, core.config, core.spaces, core.params, task=core.task)
    model = model_of(core)
    return Core(
        name or f"{core.method} on {policy.task or 'a task'}",
        policy.spaces,
        model.kind,
        model.scores,
        temperature,
        model.core,
    )


def _find(path: Path, normalise: Any, trust: bool) -> tuple[Path, Any]:
    """The file that a path means: a run folder's policy, or the model in a folder of RL Zoo's."""
    if path.is_dir():
        if (path / "policy.safetensors").exists():
            return path / "policy.safetensors", normalise
        env = path.name.rpartition("_")[0] or path.name  # logs/dqn/CartPole-v1_1
        names = [path / "best_model.zip", path / f"{env}.zip", *sorted(path.glob("*.zip"))]
        found = [p for p in names if p.exists()]
        if not found:
            raise InputError(
                f"{path} holds no policy: expected a run folder with policy.safetensors, or a "
                "Stable-Baselines3 zip such as best_model.zip"
            )
        statistics = sorted(path.rglob("vecnormalize.pkl"))
        if statistics and normalise is None:
            if not trust:
                raise InputError(
                    f"{path} has statistics in {statistics[0].name}, which is a pickle and could "
                    "run code: say trust=True if it is yours, or give normalise=(mean, var)"
                )
            normalise = statistics[0]
        return found[0], normalise
    if not path.exists() and path.with_name(f"{path.name}.zip").exists():
        path = path.with_name(f"{path.name}.zip")  # as Stable-Baselines3's own load does
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.suffix not in (".zip", ".onnx", ".safetensors"):
        raise InputError(
            f"{path} ends in '{path.suffix}': expected a Stable-Baselines3 .zip, an .onnx file, "
            "a policy.safetensors, or a folder"
        )
    return path, normalise


def _describe(core: Any) -> str:
    if isinstance(core, Path):
        return core.name
    return getattr(core, "__name__", None) or type(core).__name__
