"""Gymnasium envs side by side, in which every episode starts from a seed of its own.

Autoreset is switched off: the env returns the true last observation of an episode, and only the
finished envs are reset. The seed depends on the env's number and the episode's number. So an
episode does not depend on how many envs run beside it. And a vector of envs can be restored without
its help: each env is reset with its seed and takes the actions of its running episode again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.env_masks import has_masks, masks_of
from policy_inertia.envs.making import EnvLike, make_vector, name_of
from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError


class Step(NamedTuple):
    """The result of one step of all envs; `next_obs` is before any reset."""

    next_obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, Any]

    @property
    def done(self) -> np.ndarray:
        """Which episodes ended."""
        return self.terminated | self.truncated


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
            env: A Gymnasium id, a function that makes an env, or an env; see `making`.
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
        self.memory = self._new_memory(self.n)
        self._reset(np.ones(self.n, bool))

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in each env, and reset the envs whose episode it ended."""
        raw, reward, terminated, truncated, info = self.vector.step(
            self.spaces.actions.to_vector_env(actions)
        )
        masks = self._masks(terminated)
        encoded, self.memory = self.spaces.encode_with(raw, self.memory, masks)
        step = Step(encoded, np.array(reward), terminated.copy(), truncated.copy(), info)
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
        masks, rows = self._masks(~mask), np.asarray(raw)[mask]
        masks = None if masks is None else masks[mask]
        self.obs[mask], memory = self.spaces.encode_with(rows, self._new_memory(len(rows)), masks)
        for name, values in memory.items():
            self.memory[name][mask] = values
        self._refuse_nan("observation", self.obs)

    @property
    def has_masks(self) -> bool:
        """Whether the env says which actions may be taken."""
        return self.spaces.actions.finite and has_masks(self.vector)

    def masks(self, over: np.ndarray | None = None) -> np.ndarray:
        """Which actions may be taken now: (n, actions) booleans; see `env_masks.masks_of`."""
        return masks_of(self.vector, self.n, self.spaces.actions.width, self.name, over)

    def _masks(self, over: np.ndarray) -> np.ndarray | None:
        """The masks, if the policy sees them; the envs that are `over` are not asked."""
        return self.masks(over) if self.spaces.masked else None

    def _new_memory(self, n: int) -> dict[str, np.ndarray]:
        """What the spaces remember of `n` envs when an episode begins."""
        shapes = self.spaces.remembered
        return {name: np.zeros((n, *shape), np.float32) for name, shape in shapes.items()}

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

    def fits(self, state: dict[str, np.ndarray]) -> bool:
        """Return whether arrays have the shapes, types and values of a state of these envs."""
        kind, own = self.spaces.actions, self.state()
        actions, lengths, episode = state["actions"], state["lengths"], state["episode"]
        same = all(
            (state[name].dtype, state[name].shape) == (own[name].dtype, own[name].shape)
            for name in ("episode", "lengths", "obs")
        )
        return (
            same
            and bool((episode >= 0).all() and (lengths >= 0).all())
            and (actions.dtype, actions.shape) == (kind.dtype, (sum(lengths.tolist()), *kind.shape))
            and bool(kind.contains(actions).all())
        )

    def restore(self, state: dict[str, np.ndarray]) -> bool:
        """Return to a saved `state` that `fits`, by taking each running episode's actions again.

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
