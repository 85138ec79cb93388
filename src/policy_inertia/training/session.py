"""A run in memory: the learner, the envs and the step that moves both on."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from policy_inertia.envs.decisions import Decisions
from policy_inertia.envs.making import EnvLike
from policy_inertia.envs.n_step import NStep
from policy_inertia.envs.scaling_probe import scaled_spaces
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.envs.stretches import Stretches
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.machine import keep_memory
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.policy_file import choice_spec
from policy_inertia.replay.interface import Replay, Stored
from policy_inertia.replay.preceded import PrecededReplay
from policy_inertia.replay.skips import SkipReplay
from policy_inertia.replay.transitions import TransitionReplay
from policy_inertia.run_settings import RunConfig
from policy_inertia.seeds import training_seed
from policy_inertia.storage import finite, flatten, unflatten
from policy_inertia.training.learner import Learner
from policy_inertia.training.saved_state import SessionState, restore_generator
from policy_inertia.types import Tree


def make_replay(config: RunConfig, spec: Spec) -> Replay:
    """Make the replay buffer that fits the observations: frames for pixels, else vectors.

    A frozen core's outputs ride behind the pixels, so such observations are stored as vectors.
    """
    if config.config.traits.skips and spec.image is not None:
        raise InputError(
            f"{config.env} has pixels and {config.method} learns from vectors: choose dqn-repeat"
        )
    if config.config.traits.skips:
        return SkipReplay(config.buffer_size, spec.obs_dim, spec.actions, config.repeats)
    if spec.frames is not None and not spec.core_outputs:
        from policy_inertia.replay.frames import FrameReplay  # start-up time: it imports Numba

        folder = Path(config.memory_map) if config.memory_map else None
        return FrameReplay(config.buffer_size, spec.frames, spec.actions, folder)
    if config.memory_map:
        raise InputError(
            f"memory_map is {config.memory_map} and {config.env} is stored without frames: leave "
            "it out"
        )
    if not config.config.traits.preceded:
        return TransitionReplay(config.buffer_size, spec.obs_dim, spec.actions)
    if config.n_step != 1:
        raise InputError(
            f"n_step is {config.n_step} for {config.method}: it learns from three observations in "
            "a row, so leave it at 1"
        )
    return PrecededReplay(config.buffer_size, spec.obs_dim, spec.actions)


class Session:
    """A run in memory: everything that a checkpoint holds, and the step that moves it on."""

    def __init__(self, config: RunConfig, env: EnvLike, spaces: Spaces | None = None) -> None:
        self.config = config
        if config.normalise:
            spaces = scaled_spaces(env, config.seed, config.env_kwargs, spaces)
        self.envs = Envs(
            env,
            config.envs,
            lambda i, k: training_seed(config.seed, i, k),
            config.env_kwargs,
            spaces,
        )
        self.spaces: Spaces = self.envs.spaces
        self.spec = choice_spec(self.spaces, config.repeats, config.config.traits)
        self.algorithm = config.config.for_steps(config.steps).build(self.spec)
        if self.spec.image is not None:
            keep_memory()
        init, act, replay = map(np.random.default_rng, np.random.SeedSequence(config.seed).spawn(3))
        self.replay = make_replay(config, self.spec)
        self.learner = Learner(self.algorithm, self.replay.unpack, init)
        decisions = Stretches if config.config.traits.skips else Decisions
        self.decisions = decisions(
            self.envs.obs, self.spec.actions, config.gamma, config.repeats, config.penalty
        )
        self.n_step = self._make_n_step()
        self.act_rng, self.replay_rng = act, replay
        self.step = 0  # env steps, over all envs together
        self.updates = 0  # of the core, where there is one
        self.losses: dict[str, float] = {}
        # each running episode's numbers; see `Behaviour`
        self.drawn = np.array([self._draw() for _ in range(config.envs)], float)
        self.held = np.zeros(config.envs, np.int64)  # how long each random action is held yet
        self.running = np.zeros(config.envs)  # return of each running episode so far
        self.recent: deque[tuple[float, int]] = deque(maxlen=100)  # finished: return, length
        most = sum(-(-config.envs // interval) for interval in self.algorithm.intervals)
        self._words = np.zeros((most, config.batch_size, self.replay.width), np.int32)
        self._due = np.zeros((most, len(self.algorithm.intervals)), bool)

    def _make_n_step(self) -> NStep | None:
        """What joins steps; None for pixels: their replay buffer knows single steps only."""
        if self.config.n_step == 1 or self.spec.image is not None:
            return None
        return NStep(self.config.n_step, self.config.envs, self.spec.obs_dim, self.spec.actions)

    @property
    def epsilon(self) -> float:
        """The share of uniformly random actions."""
        return self.algorithm.behaviour.epsilon(self.updates)

    def _draw(self) -> Any:
        return self.algorithm.behaviour.draw(self.step, self.act_rng)

    def advance(self) -> None:
        """Take one step in every env, and run the updates that its transitions make due."""
        obs, behaviour = self.envs.obs, self.algorithm.behaviour
        previous = self.decisions.prev_choice
        choice = behaviour.act(
            self.learner.acting,
            obs,
            previous,
            self.drawn,
            self.updates,
            self.act_rng,
            self.held,
        )
        self.drawn = behaviour.track(self.drawn, previous, choice)
        action = self.decisions.begin(choice, obs)
        lengths = [len(a) + 1 for a in self.envs.actions]
        step = self.envs.step(action)
        before = self.replay.added
        transitions = self.decisions.end(
            action, step.next_obs, step.reward, step.terminated, step.truncated
        )
        owners = self.decisions.owners
        if self.n_step is not None:
            transitions, owners = self.n_step.join(transitions, step.done)
        self.replay.add(transitions, owners)
        self.step += self.config.envs
        self.running += step.reward
        for i in np.flatnonzero(step.done).tolist():
            self.recent.append((float(self.running[i]), lengths[i]))
            self.running[i] = 0
            self.learner.finish(self.drawn[i])
            self.drawn[i] = self._draw()
            self.held[i] = 0
        self._learn(before)

    def _learn(self, before: int) -> None:
        """Algorithm 2's two ifs: at transition t, each half whose interval divides t is updated."""
        t = np.arange(max(before, self.config.learning_starts) + 1, self.replay.added + 1)
        due = t[:, None] % self.algorithm.intervals == 0
        due = due[due.any(axis=1)]
        while len(due):  # once, except where an episode's end completes several transitions
            part, due = np.split(due, [len(self._due)])
            n = len(part)
            self._due[:n] = part
            self.replay.sample(self.replay_rng, (n, self.config.batch_size), self._words[:n])
            self.losses = self.learner.update(self._words, self._due, n)
            self.updates += int(part[:, 0].sum())

    def policy(self) -> Policy:
        """The policy as it acts now, without the exploration."""
        config = self.config
        return Policy(
            config.method,
            config.config,
            self.spaces,
            self.learner.snapshot(),
            config.repeats,
            task=config.env,
            env_kwargs=config.test_kwargs,
            limit=config.config.limit,
        )

    def figures(self) -> dict[str, Any]:
        """Figures about training itself, by the names that `metrics.jsonl` uses."""
        figures: dict[str, Any] = {}
        if self.recent:
            figures["rollout/return"] = float(np.mean([r for r, _ in self.recent]))
            figures["rollout/length"] = float(np.mean([n for _, n in self.recent]))
        if self.epsilon:
            figures["rollout/epsilon"] = self.epsilon
        figures["train/updates"] = self.updates
        figures |= {f"train/{name}": float(value) for name, value in self.losses.items()}
        return figures

    def _parts(self) -> dict[str, Tree]:
        """The parts of a state whose arrays always have the same shapes."""
        session = {
            "running": self.running,
            "drawn": self.drawn,
            "held": self.held,
            **self.spaces.to_arrays(),
        }
        parts = {
            "learner": self.learner.state,
            "decisions": self.decisions.state(),
            "session": session,
        }
        if self.n_step is not None:
            parts["n_step"] = self.n_step.state()
        return parts

    def state(self) -> tuple[dict[str, np.ndarray], SessionState]:
        """Everything but the replay buffer, as arrays and as numbers."""
        parts = {**self._parts(), "envs": self.envs.state()}
        arrays = {k: v for name, part in parts.items() for k, v in flatten(part, name).items()}
        return arrays, SessionState(
            step=self.step,
            updates=self.updates,
            added=self.replay.added,
            recent=list(self.recent),
            losses={k: finite(float(v)) for k, v in self.losses.items()},
            act_rng=dict(self.act_rng.bit_generator.state),
            replay_rng=dict(self.replay_rng.bit_generator.state),
        )

    def restore(
        self, arrays: dict[str, np.ndarray], records: Stored, state: SessionState, path: Path
    ) -> bool:
        """Return to a saved moment.

        Args:
            arrays: The arrays that `state` returned.
            records: The replay buffer's state.
            state: The numbers that `state` returned.
            path: The checkpoint's folder, for error messages.

        Returns:
            False where the env is not deterministic and did not come back to its saved state.

        Raises:
            InputError: A part is missing, or does not fit this run.
        """
        saved = {name: unflatten(p, arrays, name, path) for name, p in self._parts().items()}
        episodes = {name: arrays.get(f"envs.{name}", np.empty(0)) for name in self.envs.state()}
        fits = self.envs.fits(episodes)
        fits = fits and self.decisions.fits(saved["decisions"], self.spaces.actions)
        if self.n_step is not None:
            fits = fits and self.n_step.fits(saved["n_step"], self.spec.actions)
        if not fits:
            raise InputError(
                f"{path} holds running episodes that do not fit this env: it is damaged or of "
                "another run, so start the run again with another --out"
            )
        restore_generator(self.act_rng, state.act_rng, path)
        restore_generator(self.replay_rng, state.replay_rng, path)
        self.replay.restore(records, state.added, str(path))
        self.learner.state = jax.tree.map(jnp.array, saved["learner"])
        self.learner.fetch()
        self.decisions.restore(saved["decisions"])
        if self.n_step is not None:
            self.n_step.restore(saved["n_step"])
        self.spaces = self.envs.spaces = self.spaces.with_arrays(saved["session"])
        self.running = saved["session"]["running"].copy()
        self.drawn = saved["session"]["drawn"].copy()
        self.held = saved["session"]["held"].copy()
        self.step, self.updates = state.step, state.updates
        self.losses = {k: float("nan") if v is None else v for k, v in state.losses.items()}
        self.recent.extend(state.recent)
        return self.envs.restore(episodes)
