"""The one training loop: envs on the host, `n` updates in one compiled call."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro
from jax import lax
from jax import numpy as jnp

from .algorithms import Algorithm, Config, build, config_from_dict, find_method, override
from .checkpoint import FORMAT, flatten, unflatten, write_json
from .envs import TASKS, Decisions, EnvLike, Envs, Spaces, episode_seed, name_of
from .evaluation import evaluate
from .policy import Policy, sample
from .replay import Replay, unpack
from .runs import RunFolder, finite
from .types import InputError, Spec, Tree

TRAINING, EVALUATION, FINAL = 0, 1, 2  # three streams of episode seeds


@dataclass(frozen=True)
class RunConfig:
    """A whole run as data. `settings(method, env)` fills it with defaults that fit the task."""

    method: Annotated[str, tyro.conf.Suppress]  # on the command line these two are words
    env: Annotated[str, tyro.conf.Suppress]
    config: Annotated[Config, tyro.conf.arg(name="")]  # its settings are flags without a prefix
    steps: int = 50_000
    """Primitive environment steps to train for, over all envs together."""
    seed: int = 0
    """Everything random follows from it: same seed, same bits."""
    envs: int = 8
    """Environments side by side; the ratio of updates to transitions does not depend on it."""
    gamma: float = 0.99
    """Discount factor."""
    batch_size: int = 64
    """Transitions in a minibatch."""
    buffer_size: int = 200_000
    """Transitions kept for replay."""
    learning_starts: int = 1_000
    """Transitions collected before the first update."""
    repeats: tuple[int, ...] = (1,)
    """For how many steps an action may be held; more than one makes it part of the choice."""
    penalty: float = 0.0
    """Taken from the training reward at each switch; never in evaluation."""
    eval_every: int = 5_000
    """Steps between evaluations."""
    eval_episodes: int = 20
    """Episodes of an evaluation, with sampled actions as in the paper."""
    final_episodes: int = 50
    """Episodes of the last evaluation, sampled and greedy."""
    checkpoint_seconds: float = 60.0
    """Seconds between checkpoints; 0 saves at every evaluation."""

    def __post_init__(self) -> None:
        at_least = {
            "steps": 1,
            "envs": 1,
            "batch_size": 1,
            "buffer_size": self.envs,
            "learning_starts": 0,
            "eval_every": 1,
            "eval_episodes": 1,
            "final_episodes": 1,
            "seed": 0,
            "checkpoint_seconds": 0,
            "penalty": 0,
        }
        for name, least in at_least.items():
            if not getattr(self, name) >= least:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least {least}")
        if not 0 <= self.gamma <= 1:
            raise InputError(f"gamma is {self.gamma}: the discount factor must lie in [0, 1]")
        if not self.repeats or min(self.repeats) < 1 or len(set(self.repeats)) < len(self.repeats):
            raise InputError(
                f"repeats is {self.repeats}: give different whole numbers of steps, such as 1 2 4 8"
            )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunConfig:
        return config_from_dict(settings(values["method"], values["env"]), values)


def settings(name: str, env: str, **changes: Any) -> RunConfig:
    """The run that `name` on `env` means: the method's row, the task's settings, then `changes`.

    A change may be of the run (`steps=...`) or of the method's own config (`mu0=...`); the core of
    a nested method is changed with `core={...}`.
    """
    row = find_method(name)
    known = TASKS[env].settings if env in TASKS else {}
    config = override(
        RunConfig(name, env, row.config, repeats=row.repeats, penalty=row.penalty), known
    )
    own = {field.name for field in dataclasses.fields(RunConfig)}
    of_run = {k: v for k, v in changes.items() if k in own}
    of_method = {k: v for k, v in changes.items() if k not in own}
    if of_method:
        of_run["config"] = config_from_dict(config.config, of_method)
    return dataclasses.replace(config, **of_run)


class Learner:
    """An algorithm's state on the device, and the acting part of it on the host."""

    def __init__(self, algorithm: Algorithm, spec: Spec, rng: np.random.Generator) -> None:
        self.algorithm = algorithm
        self.state = algorithm.init(rng)
        self._run = _compiled_updates(algorithm, spec.obs_dim)
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


def _compiled_updates(algorithm: Algorithm, obs_dim: int) -> Callable[..., Any]:
    """One program for any number of updates: the loop's length is an argument, not a shape."""

    def run(state: Tree, words: Any, due: Any, n: Any) -> tuple[Tree, Any, dict[str, Any]]:
        def body(i: Any, carry: tuple[Tree, Any]) -> tuple[Tree, Any]:
            return algorithm.update(carry[0], unpack(words[i], obs_dim), due[i])

        _, shapes = jax.eval_shape(lambda s: body(0, (s, None)), state)
        nothing = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
        state, report = lax.fori_loop(0, n, body, (state, nothing))
        return state, _flat(algorithm.acting(state)), report

    return jax.jit(run, donate_argnums=0)


class Session:
    """A run in memory: everything that a checkpoint holds, and the step that moves it on."""

    def __init__(self, config: RunConfig, env: EnvLike) -> None:
        self.config = config
        self.envs = Envs(env, config.envs, lambda i, k: episode_seed(config.seed, TRAINING, i, k))
        self.spaces: Spaces = self.envs.spaces
        choices = self.spaces.n_actions * len(config.repeats)
        self.spec = self.spaces.spec._replace(n_actions=choices)
        self.algorithm = build(config.config, self.spec)
        init, act, replay = map(np.random.default_rng, np.random.SeedSequence(config.seed).spawn(3))
        self.learner = Learner(self.algorithm, self.spec, init)
        self.decisions = Decisions(
            config.envs, self.spec.obs_dim, config.gamma, config.repeats, config.penalty
        )
        self.replay = Replay(config.buffer_size, self.spec.obs_dim)
        self.act_rng, self.replay_rng = act, replay
        self.step = 0  # primitive steps
        self.updates = 0
        self.report: dict[str, float] = {}
        self.running = np.zeros(config.envs)  # return of each running training episode
        self.recent: deque[tuple[float, int]] = deque(maxlen=100)  # finished: return, length
        most = -(-config.envs // min(self.algorithm.intervals)) + len(self.algorithm.intervals)
        self._words = np.zeros(
            (most, config.batch_size, self.replay.words.shape[1]), self.replay.words.dtype
        )
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
        self.replay.add(
            self.decisions.end(action, step.next_obs, step.reward, step.terminated, step.truncated)
        )
        self.step += self.config.envs
        self.running += step.reward
        for i in np.flatnonzero(step.done).tolist():
            self.recent.append((float(self.running[i]), lengths[i]))
            self.running[i] = 0
        self._learn(before)

    def _choose(self, obs: np.ndarray) -> np.ndarray:
        acting = self.algorithm.apply(self.learner.acting, obs, self.decisions.prev_choice, np)
        choice = sample(acting.log_pi, self.act_rng)
        epsilon = self.epsilon
        if epsilon > 0:
            random = self.act_rng.integers(0, self.spec.n_actions, len(obs))
            choice = np.where(self.act_rng.random(len(obs)) < epsilon, random, choice)
        return choice

    def _learn(self, before: int) -> None:
        """Algorithm 2's two ifs: at transition t, each half whose interval divides t is updated."""
        n = 0
        for t in range(max(before, self.config.learning_starts) + 1, self.replay.added + 1):
            due = [t % interval == 0 for interval in self.algorithm.intervals]
            if any(due):
                self._due[n] = due
                n += 1
        if n:
            self.replay.sample(self.replay_rng, (n, self.config.batch_size), self._words[:n])
            self.report = self.learner.update(self._words, self._due, n)
            self.updates += n

    def policy(self) -> Policy:
        """The policy as it acts now, without the exploration."""
        c = self.config
        return Policy(
            c.method, c.config, self.spaces, self.learner.snapshot(), c.repeats, task=c.env
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
        arrays["running"] = self.running
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
        self, arrays: dict[str, np.ndarray], records: np.ndarray, state: dict[str, Any], path: Path
    ) -> bool:
        """Come back to a saved moment; False where the env could not (it is not deterministic)."""

        def part(name: str) -> dict[str, np.ndarray]:
            return {
                k.removeprefix(f"{name}."): v for k, v in arrays.items() if k.startswith(f"{name}.")
            }

        if records.dtype != self.replay.records.dtype:
            raise InputError(f"{path} holds a replay of other observations: use this run's own")
        self.learner.state = jax.tree.map(
            jnp.array, unflatten(self.learner.state, arrays, "learner", path)
        )
        self.learner.fetch()
        self.replay.restore(records, state["added"])
        self.decisions.restore(part("decisions"))
        self.running = arrays["running"].copy()
        self.step, self.updates = state["step"], state["updates"]
        self.report = {k: float("nan") if v is None else v for k, v in state["report"].items()}
        self.recent.extend((r, n) for r, n in state["recent"])
        self.act_rng.bit_generator.state = state["act_rng"]
        self.replay_rng.bit_generator.state = state["replay_rng"]
        return self.envs.restore(part("envs"))


Progress = Callable[[int, dict[str, Any], float], None]
"""Called with the step, the newest figures and the steps per second since the start."""


def train(
    method: str,
    env: EnvLike,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **changes: Any,
) -> Policy:
    """Train `method` on `env`, an id or a function that makes an env, and return the policy.

    `changes` are settings of the run (`steps`, `seed`, `envs`, ...) or of the method (`mu0`,
    `temperature`, ..., `core={...}`). Everything is kept in the folder `out`.
    """
    config = settings(method, name_of(env), **changes)
    return run(config, out or default_folder(config), env, resume, progress)


def default_folder(config: RunConfig) -> Path:
    return Path("runs") / f"{config.env.replace('/', '-')}-{config.method}-{config.seed}"


def run(
    config: RunConfig,
    out: str | os.PathLike[str],
    env: EnvLike | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Policy:
    """Carry out one run in the folder `out`.

    `env` is needed only for an env that has no Gymnasium id: a function that makes one. With
    `resume` a stopped run goes on from its last checkpoint and ends bit for bit like one that was
    never stopped; a folder without a run is then simply started.
    """
    env = env if env is not None else config.env
    session = Session(config, env)  # before the folder: a bad env leaves nothing behind
    folder = RunFolder(Path(out), config.to_dict(), resume)
    try:
        return _run(config, env, session, folder, progress, warn)
    finally:
        folder.close()
        session.envs.close()


def _run(
    config: RunConfig,
    env: EnvLike,
    session: Session,
    folder: RunFolder,
    progress: Progress | None,
    warn: Callable[[str], None],
) -> Policy:
    best, next_eval, size = -np.inf, 0, 0
    saved = folder.checkpoints.load()
    if saved is not None:
        if folder.changed:
            warn(
                f"{folder.path} was begun with other versions ({', '.join(folder.changed)}): it "
                "goes on, but may not end bit for bit like a run of one version"
            )
        if not session.restore(*saved, folder.path):
            warn(
                f"{name_of(env)} did not come back to its saved state (it is not deterministic "
                "given its seed): the running episodes go on from where they replayed to"
            )
        best, next_eval, size = (saved[2][k] for k in ("best", "next_eval", "metrics_size"))
        best = -np.inf if best is None else best
    folder.rewind(size, session.step if saved is not None else None)

    slots = Envs(env, min(config.eval_episodes, 20), lambda i, k: 0)
    started = last_save = time.perf_counter()
    first_step, figures = session.step, dict[str, Any]()

    def speed() -> float:
        return (session.step - first_step) / (time.perf_counter() - started)

    def mark() -> None:
        """Evaluate, log, and keep what is worth keeping."""
        nonlocal best, next_eval, last_save, figures
        policy = session.policy()
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(policy.params)):
            raise InputError(
                f"training diverged before step {session.step} (the networks hold NaN): lower the "
                "learning rate or scale the rewards; the last checkpoint is untouched"
            )
        seed = episode_seed(config.seed, EVALUATION, session.step)
        summary = evaluate(policy, slots, config.eval_episodes, seed).summary()
        figures = session.figures() | tags(summary)
        folder.log(session.step, figures, speed())
        if summary["return"] > best:
            best = summary["return"]
            policy.save(folder.path / "best.safetensors")
        next_eval = (session.step // config.eval_every + 1) * config.eval_every
        now = time.perf_counter()
        if session.step >= config.steps or now - last_save >= config.checkpoint_seconds:
            arrays, state = session.state()
            state |= {"best": finite(float(best)), "next_eval": next_eval}
            state["metrics_size"] = folder.metrics_size
            folder.checkpoints.save(str(session.step), arrays, session.replay.state(), state)
            last_save = now

    if saved is None:
        mark()
    while session.step < config.steps:
        session.advance()
        due = session.step >= min(next_eval, config.steps)
        if due:
            mark()
        if progress is not None and (due or session.step % (32 * config.envs) == 0):
            progress(session.step, figures, speed())

    policy = session.policy()
    policy.save(folder.path / "policy.safetensors")
    result = {
        name: evaluate(
            p, slots, config.final_episodes, episode_seed(config.seed, FINAL), greedy
        ).summary()
        for name, p, greedy in (
            ("sampled", policy, False),
            ("greedy", policy, True),
            ("core", policy.core(), False),
        )
        if name != "core" or policy.nested
    }
    write_json(folder.path / "result.json", {"format": FORMAT, "step": session.step, **result})
    slots.close()
    return policy


def tags(summary: dict[str, Any]) -> dict[str, Any]:
    """An evaluation's figures under SB3's tags where it has one, else under our own."""
    renamed = {
        "return": "eval/mean_reward",
        "return_std": "eval/std_reward",
        "length": "eval/mean_ep_length",
        "mu_mean": "train/mu_mean",
        "mu_under_0.05": "train/mu_under_0.05",
        "mu_over_0.95": "train/mu_over_0.95",
    }
    return {
        renamed.get(name, f"eval/{name}"): value
        for name, value in summary.items()
        if value is not None and name != "episodes"
    }
