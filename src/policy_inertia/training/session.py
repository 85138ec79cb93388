"""A run in memory: the learner, the envs and the step that moves both on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.algorithms.interface import Algorithm
from policy_inertia.envs.decisions import Decisions
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import EnvLike, Envs, episode_seed
from policy_inertia.errors import InputError
from policy_inertia.machine import keep_memory
from policy_inertia.methods import build
from policy_inertia.policies.policy import Policy, sample
from policy_inertia.replay.transitions import Replay, Stored, unpack
from policy_inertia.settings import RunConfig
from policy_inertia.storage import finite, flatten, unflatten
from policy_inertia.types import Spec, Transition, Tree

if TYPE_CHECKING:
    from policy_inertia.replay.frames import FrameReplay

TRAINING, EVALUATION, FINAL = 0, 1, 2  # three streams of episode seeds


class Learner:
    """An algorithm's state on the device, and the acting part of it on the host."""

    def __init__(self, algorithm: Algorithm, spec: Spec, rng: np.random.Generator) -> None:
        self.algorithm = algorithm
        if spec.image is not None:
            keep_memory()
        self.state = algorithm.init(rng)
        self._run = _compiled_updates(algorithm, spec)
        shapes = jax.eval_shape(algorithm.acting, self.state)
        leaves, structure = jax.tree.flatten(shapes)
        self._flat = np.zeros(sum(leaf.size for leaf in leaves), np.float32)
        ends = np.cumsum([leaf.size for leaf in leaves])
        # views into one vector, so that one copy brings the whole policy to the host
        views = [
            self._flat[end - leaf.size : end].reshape(leaf.shape)
            for leaf, end in zip(leaves, ends, strict=True)
        ]
        self.acting: Tree = jax.tree.unflatten(structure, views)
        self.fetch()

    def fetch(self) -> None:
        leaves = jax.tree.leaves(self.algorithm.acting(self.state))
        np.concatenate([np.ravel(leaf) for leaf in leaves], out=self._flat)

    def update(self, words: np.ndarray, due: np.ndarray, n: int) -> dict[str, Any]:
        """Run the first `n` of the minibatches in `words`; the losses of the last."""
        self.state, flat, report = self._run(self.state, words, due, n)
        np.copyto(self._flat, flat)
        return report

    def snapshot(self) -> Tree:
        return jax.tree.map(np.copy, self.acting)


def _flat(tree: Tree) -> Any:
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])


def _frames(spec: Spec) -> tuple[int, int, int] | None:
    """The image that is stored frame by frame; none where a core's answers go with it."""
    return None if spec.aside else spec.image


def _compiled_updates(algorithm: Algorithm, spec: Spec) -> Callable[..., Any]:
    """One program for any number of updates: the loop's length is an argument, not a shape."""

    def read(words: Any) -> Transition:
        if (image := _frames(spec)) is None:
            return unpack(words, spec.obs_dim)
        from policy_inertia.replay.frames import unpack_frames

        return unpack_frames(words, image)

    def run(state: Tree, words: Any, due: Any, n: Any) -> tuple[Tree, Any, dict[str, Any]]:
        def body(i: Any, carry: tuple[Tree, Any]) -> tuple[Tree, Any]:
            return algorithm.update(carry[0], read(words[i]), due[i])[:2]

        _, shapes = jax.eval_shape(lambda s: body(0, (s, None)), state)
        nothing = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
        state, report = lax.fori_loop(0, n, body, (state, nothing))
        return state, _flat(algorithm.acting(state)), report

    return jax.jit(run, donate_argnums=0)


def _replay(config: RunConfig, spec: Spec) -> Replay | FrameReplay:
    if (image := _frames(spec)) is not None:
        from policy_inertia.replay.frames import (
            FrameReplay,  # it brings Numba, for which nobody else has to wait
        )

        folder = Path(config.memory_map) if config.memory_map else None
        return FrameReplay(config.buffer_size, image, folder)
    if config.memory_map:
        raise InputError(
            f"memory_map is {config.memory_map} and {config.env} is stored without frames: leave "
            "it out"
        )
    return Replay(config.buffer_size, spec.obs_dim)


class Session:
    """A run in memory: everything that a checkpoint holds, and the step that moves it on."""

    def __init__(self, config: RunConfig, env: EnvLike, spaces: Spaces | None = None) -> None:
        self.config = config
        self.envs = Envs(
            env,
            config.envs,
            lambda i, k: episode_seed(config.seed, TRAINING, i, k),
            config.env_kwargs,
            spaces,
        )
        self.spaces: Spaces = self.envs.spaces
        choices = self.spaces.n_actions * len(config.repeats)
        self.spec = self.spaces.spec._replace(n_actions=choices)
        self.algorithm = build(config.config, self.spec)
        init, act, replay = map(np.random.default_rng, np.random.SeedSequence(config.seed).spawn(3))
        self.learner = Learner(self.algorithm, self.spec, init)
        self.decisions = Decisions(self.envs.obs, config.gamma, config.repeats, config.penalty)
        self.replay = _replay(config, self.spec)
        self.act_rng, self.replay_rng = act, replay
        self.step = 0  # primitive steps
        self.updates = 0  # of the core, where there is one
        self.report: dict[str, float] = {}
        # a number for each running episode, where the algorithm acts by it: it gives the price
        self.drawn = np.zeros(config.envs if self.algorithm.behave else 0)
        for i in range(len(self.drawn)):
            self.drawn[i] = self._draw()
        self.running = np.zeros(config.envs)  # return of each running training episode
        self.recent: deque[tuple[float, int]] = deque(maxlen=100)  # finished: return, length
        most = sum(-(-config.envs // interval) for interval in self.algorithm.intervals)
        self._words = np.zeros((most, config.batch_size, self.replay.width), np.int32)
        self._due = np.zeros((most, len(self.algorithm.intervals)), bool)

    @property
    def epsilon(self) -> float:
        return self.algorithm.exploration(self.updates)

    def advance(self) -> None:
        """One step in every env, and the updates that its transitions make due."""
        obs = self.envs.obs
        action = self.decisions.begin(self._choose(obs), obs)
        lengths = [len(a) + 1 for a in self.envs.actions]
        step = self.envs.step(action)
        before = self.replay.added
        ended = self.decisions.end(
            action, step.next_obs, step.reward, step.terminated, step.truncated
        )
        self.replay.add(ended, np.flatnonzero(self.decisions.over))
        self.step += self.config.envs
        self.running += step.reward
        for i in np.flatnonzero(step.done).tolist():
            self.recent.append((float(self.running[i]), lengths[i]))
            self.running[i] = 0
            if self.algorithm.behave:
                self.drawn[i] = self._draw()
        self._learn(before)

    def _draw(self) -> float:
        """A number in [0, 1) for a new episode, or -1 where the core is to act alone."""
        opening = self.algorithm.opening
        if opening is not None and self.act_rng.random() >= opening(self.step):
            return -1.0
        return self.act_rng.random()

    def _choose(self, obs: np.ndarray) -> np.ndarray:
        params, previous = self.learner.acting, self.decisions.prev_choice
        if self.algorithm.behave:
            log_pi = self.algorithm.behave(params, obs, previous, self.drawn)
        else:
            log_pi = self.algorithm.apply(params, obs, previous, np).log_pi
        choice = sample(log_pi, self.act_rng)
        epsilon = self.epsilon
        if epsilon > 0:
            random = self.act_rng.integers(0, self.spec.n_actions, len(obs))
            choice = np.where(self.act_rng.random(len(obs)) < epsilon, random, choice)
        return choice

    def _learn(self, before: int) -> None:
        """Algorithm 2's two ifs: at transition t, each half whose interval divides t is updated."""
        t = np.arange(max(before, self.config.learning_starts) + 1, self.replay.added + 1)
        due = t[:, None] % self.algorithm.intervals == 0
        due = due[due.any(axis=1)]
        n = len(due)
        if n:
            self._due[:n] = due
            self.replay.sample(self.replay_rng, (n, self.config.batch_size), self._words[:n])
            self.report = self.learner.update(self._words, self._due, n)
            self.updates += int(due[:, 0].sum())

    def policy(self) -> Policy:
        """The policy as it acts now, without the exploration."""
        c = self.config
        return Policy(
            c.method,
            c.config,
            self.spaces,
            self.learner.snapshot(),
            c.repeats,
            task=c.env,
            env_kwargs=c.test_kwargs,
        )

    def figures(self) -> dict[str, Any]:
        """What training says of itself, under SB3's tags."""
        figures: dict[str, Any] = {"time/total_timesteps": self.step}
        if self.recent:
            figures["rollout/ep_rew_mean"] = float(np.mean([r for r, _ in self.recent]))
            figures["rollout/ep_len_mean"] = float(np.mean([n for _, n in self.recent]))
        if self.epsilon:
            figures["rollout/exploration_rate"] = self.epsilon
        figures["train/n_updates"] = self.updates
        figures |= {f"train/{name}": float(value) for name, value in self.report.items()}
        return figures

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """All of it as arrays and JSON (the replay's records are saved on their own)."""
        arrays = flatten(self.learner.state, "learner")
        for name, part in (("envs", self.envs), ("decisions", self.decisions)):
            arrays |= {f"{name}.{k}": v for k, v in part.state().items()}
        arrays["running"], arrays["drawn"] = self.running, self.drawn
        return arrays, {
            "step": self.step,
            "updates": self.updates,
            "added": self.replay.added,
            "recent": list(self.recent),
            "report": {k: finite(float(v)) for k, v in self.report.items()},
            "act_rng": self.act_rng.bit_generator.state,
            "replay_rng": self.replay_rng.bit_generator.state,
        }

    def restore(
        self, arrays: dict[str, np.ndarray], records: Stored, state: dict[str, Any], path: Path
    ) -> bool:
        """Come back to a saved moment; False where the env could not (it is not deterministic)."""

        def part(name: str) -> dict[str, np.ndarray]:
            return {
                k.removeprefix(f"{name}."): v for k, v in arrays.items() if k.startswith(f"{name}.")
            }

        self.replay.restore(records, state["added"], str(path))
        self.learner.state = jax.tree.map(
            jnp.array, unflatten(self.learner.state, arrays, "learner", path)
        )
        self.learner.fetch()
        self.decisions.restore(part("decisions"))
        self.running = arrays["running"].copy()
        self.drawn = arrays.get("drawn", self.drawn).copy()
        self.step, self.updates = state["step"], state["updates"]
        self.report = {k: float("nan") if v is None else v for k, v in state["report"].items()}
        self.recent.extend((r, n) for r, n in state["recent"])
        self.act_rng.bit_generator.state = state["act_rng"]
        self.replay_rng.bit_generator.state = state["replay_rng"]
        return self.envs.restore(part("envs"))
