"""What acts: a trained policy on the host, in Stable-Baselines3's recurrent convention.

The memory that `predict` carries along as its state is the previous action.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.interface import Acting
from policy_inertia.algorithms.nested import DialConfig, NestedConfig
from policy_inertia.envs.decisions import split
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError
from policy_inertia.methods import Config, build, config_from_dict, find_method
from policy_inertia.metrics.calibration_table import Calibration
from policy_inertia.policies.hysteresis import apply_hysteresis
from policy_inertia.policies.spaces_with_core import SpacesWithCore, restore_core, store_core
from policy_inertia.storage import flatten, read_arrays, unflatten, write_arrays
from policy_inertia.types import Array, Spec, Tree

if TYPE_CHECKING:
    from policy_inertia.envs.vector import EnvLike
    from policy_inertia.interop.onnx_out import Exported

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
        calibration: Calibration | None = None,
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
        self.calibration = calibration
        self._algorithm = build(config, _choice_spec(spaces, repeats))
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
        return self._algorithm.apply(self.params, obs, prev_action, np)

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

    @property
    def certain(self) -> bool:
        """Whether it puts all probability on one action, so that sampling is being greedy."""
        if isinstance(self.config, DialConfig):
            return self.config.act != "mu"
        return isinstance(self.config, DQNConfig)

    @property
    def price(self) -> float | None:
        """What the dial is set to; None for policies that have none."""
        return float(self.params.dial.price) if self._algorithm.at else None

    @property
    def largest_price(self) -> float | None:
        """How far the dial goes: nothing beyond was learned. None for policies that have none."""
        return float(self.params.dial.largest) if self._algorithm.at else None

    @property
    def knob(self) -> str:
        """What `calibrate` sweeps and `with_budget` sets: the dial's price, or hysteresis."""
        return "hysteresis" if self.price is None else "price"

    def replace(self, **changes: Any) -> Policy:
        """The same policy with other arguments of the constructor."""
        names = ("method", "config", "spaces", "params", "repeats", "hysteresis", "task")
        now = {name: getattr(self, name) for name in (*names, "env_kwargs", "calibration")}
        return Policy(**{**now, **changes})

    def core(self) -> Policy:
        """The policy without its controller."""
        if not isinstance(self.config, NestedConfig):
            return self
        return self.replace(
            method=f"{self.method} (core)",
            config=self.config.core,
            params=self.params.core,
            calibration=None,
        )

    def with_hysteresis(self, tau: float) -> Policy:
        """The same policy, which keeps its last action unless a new one is better by `tau`.

        "Better" is in log-probability, or in Q for DQN; an action that is as good as the last one
        plus `tau` is taken. `tau=0` leaves a greedy policy as it is.
        """
        return self.replace(hysteresis=tau)

    def at(self, price: Array) -> Policy:
        """The same policy with its dial at another price of switching.

        An array gives each row of a batch its own price. Prices beyond the largest that was learned
        are charged for the decision at hand, and not planned for.

        Between two steps too: the state that `predict` gave goes on with the new policy.
        """
        largest = self.largest_price
        if largest is None or self._algorithm.at is None:
            raise InputError(
                f"{self.method} has no dial: train dial-dqn or dial-sac, or smooth this policy "
                "with with_hysteresis"
            )
        end = np.finfo(np.float32).max if self.unbounded else largest * (1 + 1e-6)
        inside = (np.asarray(price) >= 0) & (np.asarray(price) <= end)
        if not inside.all():
            outside = price if np.ndim(price) == 0 else price[~inside][0]
            reach = "from 0 on" if self.unbounded else f"from 0 to {largest:g}, which it learned"
            raise InputError(f"the price is {outside}: give one {reach}")
        return self.replace(params=self._algorithm.at(self.params, price))

    def ways(self) -> list[Policy]:
        """The ways to act by what a dial has learned, of which `calibrate` keeps the best: `full`
        where it learned that; a gate that begins an episode, where there is nothing to repeat, with
        the core's action; and one that begins with what its critics call best, since it will be
        repeated.

        A frozen core begins: the critics know nothing of what it never does.
        """
        config, dial = self.config, getattr(self.params, "dial", None)
        if not isinstance(config, DialConfig) or config.act == "mu" or dial is None:
            return [self]
        free = [self] if config.act == "full" else []
        config = dataclasses.replace(config, act="gate")
        params = [self.params._replace(dial=dial._replace(begins=np.float32(b))) for b in (0, 1)]
        gates = [self.replace(config=config, params=p) for p in params]
        return [*free, *gates[: 1 if self.spaces.spec.aside else 2]]

    @property
    def way(self) -> str:
        """How a dial acts, in words; nothing for policies that have none."""
        if self.price is None:
            return ""
        assert isinstance(self.config, DialConfig)
        begins = "its critics begin" if self.params.dial.begins else "the core begins"
        return {
            "full": "takes any action",
            "gate": f"repeats or follows its core, {begins}",
            "mu": "mixes its core with repetition",
        }[self.config.act]

    @property
    def unbounded(self) -> bool:
        """Whether its knob can be turned on until it never switches: all but a network's mu can."""
        return self.largest_price is None or getattr(self.config, "act", None) != "mu"

    def set_to(self, setting: float) -> Policy:
        """The same policy with its knob at `setting`: a price, or a threshold of hysteresis."""
        return self.with_hysteresis(setting) if self.price is None else self.at(setting)

    def calibrate(
        self,
        env: EnvLike | None = None,
        episodes: int = 50,
        seed: int = 0,
        settings: Sequence[float] | None = None,
        env_kwargs: dict[str, Any] | None = None,
    ) -> Policy:
        """The same policy with a table of its oscillation, return and crash rate by setting.

        Any policy has it: without a dial, hysteresis' threshold is swept. `env` is its task's own
        by default, with its arguments; the episodes are greedy and their seeds are used for nothing
        else.
        """
        from policy_inertia.calibration.sweep import calibrate

        if env is None:
            env, env_kwargs = self.task, env_kwargs or self.env_kwargs
        return calibrate(self, env, episodes, seed, settings, env_kwargs)

    def with_budget(self, max_oscillation: float) -> Policy:
        """The same policy, smooth enough: the lowest setting in its calibration from which greedy
        actions stay within `max_oscillation` switches per step. May be asked again at any step."""
        if self.calibration is None:
            raise InputError(
                f"this {self.method} policy was not calibrated: measure it first, with "
                "policy = policy.calibrate(env)"
            )
        return self.set_to(self.calibration.within(max_oscillation).setting)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to one safetensors file (no pickle)."""
        about = {
            "kind": "policy",
            "method": self.method,
            "config": dataclasses.asdict(self.config),
            "spaces": self.spaces.to_dict(),
            "repeats": self.repeats,
            "hysteresis": self.hysteresis,
            "task": self.task,
            "env_kwargs": self.env_kwargs,
            "calibration": self.calibration and self.calibration.to_dict(),
        }
        arrays = flatten(self.params, "policy")
        if isinstance(self.spaces, SpacesWithCore):
            stored, about["core"] = store_core(self.spaces.core)
            arrays |= stored
        write_arrays(Path(path), arrays, about)

    def export(self, path: str | os.PathLike[str]) -> Exported:
        """Write the policy to one ONNX file, compared with this one; see `interop.onnx.export`."""
        from policy_inertia.interop.onnx_out import export

        return export(self, path)

    def model_card(
        self, folder: str | os.PathLike[str], env: EnvLike | None = None, episodes: int = 20
    ) -> list[Path]:
        """Write a folder for the Hugging Face Hub; see `interop.cards.model_card`."""
        from policy_inertia.interop.model_card import model_card

        return model_card(self, folder, env, episodes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], core: Any = None) -> Policy:
        """Read what `save` wrote, or a run folder's last policy; nothing in it can run code.

        `core` is the policy that a smoothed one was trained around (see `load_core`), where the
        file could not hold it: it holds networks, and no functions.
        """
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
        spaces = Spaces.from_dict(about["spaces"])
        if about.get("core"):
            spaces = restore_core(spaces, arrays, about, core, path)
        # files from before there was a choice: the core began
        arrays.setdefault("policy.dial.begins", np.zeros((), np.float32))
        repeats = tuple(about["repeats"])
        algorithm = build(config, _choice_spec(spaces, repeats))
        shapes = jax.eval_shape(lambda: algorithm.acting(algorithm.init(np.random.default_rng())))
        params = unflatten(shapes, arrays, "policy", path)
        table = about.get("calibration")
        return cls(
            about["method"],
            config,
            spaces,
            params,
            repeats,
            about["hysteresis"],
            about["task"],
            about["env_kwargs"],
            Calibration.from_dict(table) if table else None,
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
        extra += "" if self.price is None else f", price={self.price:g}"
        return f"Policy({self.method} on {self.task or 'a task'}{extra})"


def _choice_spec(spaces: Spaces, repeats: tuple[int, ...]) -> Spec:
    return spaces.spec._replace(n_actions=spaces.n_actions * len(repeats))
