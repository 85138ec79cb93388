"""A replay buffer that stores with each transition the observation before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.space import ActionSpace
from policy_inertia.replay.interface import Stored, foreign_state
from policy_inertia.replay.transitions import TransitionReplay, floats, record_dtype
from policy_inertia.types import Array, Preceded, Transition


class PrecededReplay(TransitionReplay):
    """A ring of transitions with `prev_obs`; see `interface.Replay`.

    A transition of an env follows the last one of the same env. At an episode's start, where the
    previous action is null, the observation itself stands for the one before.
    """

    def __init__(self, capacity: int, obs_dim: int, actions: ActionSpace) -> None:
        before = ("prev_obs", np.float32, (obs_dim,))
        dtype = np.dtype([*record_dtype(obs_dim, actions).descr, before])
        super().__init__(capacity, obs_dim, actions, dtype)
        self._last = np.zeros((0, obs_dim), np.float32)  # of each env: where its last one began

    def add(self, batch: Transition, envs: np.ndarray | None = None) -> None:
        """Store a batch with at most one transition of each env, in `envs`."""
        envs = np.arange(len(batch.action)) if envs is None else envs
        missing = int(envs.max(initial=-1)) + 1 - len(self._last)
        if missing > 0:
            empty = np.zeros((missing, self.obs_dim), np.float32)
            self._last = np.concatenate([self._last, empty])
        starts = np.asarray(self.actions.is_null(batch.prev_action))[:, None]
        whole: Any = Preceded(*batch, np.where(starts, batch.obs, self._last[envs]))
        super().add(whole)
        self._last[envs] = batch.obs

    def unpack(self, words: Array) -> Any:
        """Read sampled words as transitions again, `Preceded`, in compiled code."""
        return Preceded(*super().unpack(words), floats(words[..., -self.obs_dim :]))

    def state(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        """What is stored, without the part that was never written."""
        return {"records": super().state(), "last": self._last}

    def restore(self, state: Stored, added: int, where: str = "the checkpoint") -> None:
        """Return to a saved `state`; `where` names its file in error messages."""
        if not isinstance(state, dict) or set(state) != {"records", "last"}:
            raise foreign_state(where)
        last = state["last"]
        if (last.dtype, last.shape[1:]) != (self._last.dtype, self._last.shape[1:]):
            raise foreign_state(where)
        super().restore(state["records"], added, where)
        self._last = np.array(last)
