"""Gymnasium envs side by side, in which every episode starts from a seed of its own.

Autoreset is switched off: the env returns the true last observation of an episode, and only the
finished envs are reset. The seed depends on the env's number and the episode's number. So an
episode does not depend on how many envs run beside it. And a vector of envs can be restored without
its help: each env is reset with its seed and takes the actions of its running episode again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from policy_inertia.envs.registry import task_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest

EnvLike = str | Callable[..., gym.Env]


def name_of(env: EnvLike) -> str:
    """What to call an env in files and messages."""
    if isinstance(env, str):
        return env
    return getattr(env, "__name__", type(env).__name__).strip("<>")  # <lambda> is no file name


def make_env(env: EnvLike, kwargs: dict[str, Any] | None = None) -> gym.Env:
    """One env, given by its Gymnasium id or by a function that makes one.

    `kwargs` are the env's own arguments, which `gym.make` or the function takes by name.
    """
    kwargs = kwargs or {}
    env, kwargs = _resolved(env, kwargs)
    try:
        # the checker costs more than many envs' own step, and warns about what we test ourselves
        if isinstance(env, str):
            return gym.make(env, disable_env_checker=True, **kwargs)
        return env(**kwargs)
    except (gym.error.Error, ImportError) as error:
        raise _cannot_make(name_of(env), error) from error
    except TypeError as error:
        if not kwargs:
            raise
        raise InputError(
            f"{name_of(env)} cannot be made with {kwargs}: {str(error).splitlines()[0]}"
        ) from error


def _resolved(env: EnvLike, kwargs: dict[str, Any]) -> tuple[EnvLike, dict[str, Any]]:
    """An env as Gymnasium knows it, by our own names too: importing their home registers them."""
    if isinstance(env, str) and env.startswith(("policy_inertia/", "ALE/")):
        if task_of(env).highway_module:
            from policy_inertia.envs import highway

            highway.register()
        else:
            from policy_inertia.envs import atari

            return atari.resolve(env, kwargs)
    return env, kwargs


def make_vector(
    env: EnvLike, n: int, kwargs: dict[str, Any] | None = None
) -> tuple[VectorEnv, Spaces]:
    """`n` copies of an env, made as by `make_env`."""
    kwargs = kwargs or {}

    def one() -> gym.Env:
        return make_env(env, kwargs)

    probe = one()
    spaces = Spaces.of(probe.observation_space, probe.action_space, name_of(env))
    probe.close()
    if isinstance(env, str) and _compiled(probe):
        known, settled = _resolved(env, kwargs)
        return gym.make_vec(
            str(known), n, vectorization_mode="vector_entry_point", **settled
        ), spaces
    return SyncVectorEnv([one] * n, copy=False, autoreset_mode=AutoresetMode.DISABLED), spaces


def _compiled(env: gym.Env) -> bool:
    """Whether an env steps a whole batch in one call and leaves the resets to us, seed by seed."""
    entry: Any = env.spec and env.spec.vector_entry_point
    if isinstance(entry, str):
        entry = gym.envs.registration.load_env_creator(entry)
    mode = getattr(entry, "metadata", {}).get("autoreset_mode")
    return mode == AutoresetMode.DISABLED


def _cannot_make(name: str, error: Exception) -> InputError:
    if isinstance(error, gym.error.NamespaceNotFound):
        return InputError(
            f"there is no env '{name}': the package that offers {name.split('/')[0]}/... is not "
            "installed, or must be named in front, as package:Id"
        )
    if isinstance(error, gym.error.UnregisteredEnv | ModuleNotFoundError):
        return InputError(f"there is no env '{name}'{_meant(name)}")
    return InputError(f"{name} cannot be made: {str(error).splitlines()[0]}")


def _meant(name: str) -> str:
    """The end of the sentence about an unknown id."""
    from policy_inertia.envs import atari, highway  # noqa: F401 - their tasks may be what was meant

    # ale-py's import also registers old names of its games, which are unknown until then
    old = {k for k, v in gym.registry.items() if str(v.entry_point).startswith("ale_py")}
    known = [k for k in gym.registry if k not in old or k.startswith("ALE/")]
    whole = [k for k in known if k.endswith(f"/{name}")]
    if whole:
        return f": did you mean '{whole[0]}'?"
    if name.startswith("policy_inertia/") and not atari.installed():
        more = "pip install 'policy-inertia[atari]'"
        return f"{nearest(name, known)} (most Atari games are known with ale-py only: {more})"
    return nearest(name, known) or (
        ": give a Gymnasium id such as CartPole-v1, or package:Id for one of your own"
    )


class Step(NamedTuple):
    """What one step of all envs gave; `next_obs` is what the action led to, not the reset."""

    next_obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, Any]

    @property
    def done(self) -> np.ndarray:
        return self.terminated | self.truncated


def episode_seed(*key: int) -> int:
    """A seed for an episode from the numbers that name it; any two keys give unrelated seeds."""
    return int(np.random.SeedSequence(key).generate_state(1)[0])


class Envs:
    """N envs side by side; `obs` is what to act on next."""

    def __init__(
        self,
        env: EnvLike,
        n: int,
        seed_of: Callable[[int, int], int],
        kwargs: dict[str, Any] | None = None,
        spaces: Spaces | None = None,
    ) -> None:
        """Make the envs and start an episode in each.

        Args:
            env: A Gymnasium id, or a function that makes an env.
            n: How many envs.
            seed_of: Gives the seed of env i's k-th episode.
            kwargs: The env's own arguments.
            spaces: The env's own spaces, where something is added to the observations.
        """
        self.name = name_of(env)
        self.vector, own = make_vector(env, n, kwargs)
        self.spaces = spaces or own
        self.seed_of = seed_of
        self.n = n
        self.restart()

    def restart(self, seed_of: Callable[[int, int], int] | None = None) -> None:
        """Start all over in every env."""
        self.seed_of = seed_of or self.seed_of
        self.episode = np.full(self.n, -1)
        self.actions: list[list[Any]] = [[] for _ in range(self.n)]  # of each running episode
        # where an episode goes on from another's end: that one's actions, and its first episode
        self.earlier: list[list[Any]] = [[] for _ in range(self.n)]
        self.began = self.episode.copy()
        self.obs = np.zeros((self.n, self.spaces.spec.obs_dim), self.spaces.dtype)
        self._reset(np.ones(self.n, bool))

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in each env, and reset the envs whose episode it ended."""
        raw, reward, terminated, truncated, info = self.vector.step(
            self.spaces.actions.to_vector_env(actions)
        )
        step = Step(
            self.spaces.encode(raw), np.array(reward), terminated.copy(), truncated.copy(), info
        )
        self._refuse_nan("reward", step.reward)
        self._refuse_nan("observation", step.next_obs)
        for record, action in zip(self.actions, actions.tolist(), strict=True):
            record.append(action)
        self.obs = step.next_obs
        if step.done.any():
            self.obs = step.next_obs.copy()
            self._reset(step.done, info.get("goes_on"))
        return step

    def _reset(self, mask: np.ndarray, goes_on: np.ndarray | None = None) -> None:
        """Start an episode in the masked envs: each from its seed, unless the env `goes_on`."""
        self.episode[mask] += 1
        seeds: Any = [None] * self.n  # Gymnasium's types know a single seed only
        for i in np.flatnonzero(mask).tolist():
            seed = self.seed_of(i, int(self.episode[i]))
            if goes_on is not None and goes_on[i]:
                self.earlier[i] += self.actions[i]
            else:
                seeds[i], self.earlier[i], self.began[i] = seed, [], self.episode[i]
            self.actions[i] = []
        raw, _ = self.vector.reset(seed=seeds, options={"reset_mask": mask.copy()})
        self.obs[mask] = self.spaces.encode(np.asarray(raw)[mask])
        self._refuse_nan("observation", self.obs)

    def _refuse_nan(self, what: str, values: np.ndarray) -> None:
        if values.dtype == np.uint8:
            return
        bad = np.isnan(values.reshape(self.n, -1)).any(axis=1)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"{self.name} gave a NaN {what} in env {i}, episode {self.episode[i]}, step "
                f"{len(self.actions[i])}: learning cannot go on from it, so mend the env "
                "(the last checkpoint is untouched)"
            )

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to return to this moment, as named arrays."""
        taken = [a + b for a, b in zip(self.earlier, self.actions, strict=True)]
        kind = self.spaces.actions
        actions = np.array([action for record in taken for action in record], kind.dtype)
        return {
            "episode": self.began.copy(),
            "lengths": np.array([len(record) for record in taken]),
            "actions": actions.reshape(-1, *kind.shape),
            "obs": self.obs.copy(),
        }

    def restore(self, state: dict[str, np.ndarray]) -> bool:
        """Return to a saved `state` by taking each running episode's actions again.

        The episodes have different lengths: the shorter ones start later, and all end together.

        Returns:
            False where an env did not come back to the same observation, since it is not
            deterministic given its seed. Its episode then goes on from where it replayed to.
        """
        lengths, ends = state["lengths"], np.cumsum(state["lengths"])
        longest = int(lengths.max(initial=0))
        for t in range(longest + 1):
            starting = lengths == longest - t
            if starting.any():
                self.episode[starting] = state["episode"][starting] - 1
                self._reset(starting)
            if t == longest:
                break
            running = lengths >= longest - t
            actions = np.zeros((self.n, *state["actions"].shape[1:]), state["actions"].dtype)
            actions[running] = state["actions"][(ends - longest + t)[running]]
            self.step(actions)
        return bool(np.array_equal(self.obs, state["obs"]))

    def close(self) -> None:
        """Close the envs."""
        self.vector.close()
