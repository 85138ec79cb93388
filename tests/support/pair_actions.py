"""Actions of two numbers each: a second kind of action space, to test that nothing assumes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from policy_inertia.actions.bucket import TOKEN


@dataclass(frozen=True)
class Pairs:
    """Pairs of numbers from 0 to `n` - 1."""

    n: int

    kind: ClassVar[str] = "pairs"
    finite: ClassVar[bool] = True
    shape: ClassVar[tuple[int, ...]] = (2,)
    dtype: ClassVar[np.dtype] = np.dtype(np.int32)

    @classmethod
    def from_gym(cls, space: gym.Space[Any]) -> Pairs | None:
        if isinstance(space, gym.spaces.MultiDiscrete) and space.shape == (2,):
            return cls(int(space.nvec[0]))
        return None

    @property
    def width(self) -> int:
        return 2 * self.n

    def null(self, n: int) -> np.ndarray:
        return np.full((n, 2), -1)

    def is_null(self, actions: Any) -> Any:
        return (actions < 0).all(-1)

    def contains(self, actions: Any) -> Any:
        return ((actions >= 0) & (actions < self.n)).all(-1)

    def equal(self, a: Any, b: Any) -> Any:
        return (a == b).all(-1)

    def close(self, a: Any, b: Any) -> Any:
        return self.equal(a, b)

    def distance(self, a: Any, b: Any) -> Any:
        return (a != b).mean(-1)

    def cost(self, previous: Any, actions: Any) -> Any:
        changed = (actions != previous).sum(-1) * ~self.is_null(previous)
        return changed * (TOKEN // 2)

    def encode(self, actions: Any, xp: Any = np) -> Any:
        hot = (actions[..., None] == xp.arange(self.n)).astype(np.float32)
        return hot.reshape(*actions.shape[:-1], self.width)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.integers(0, self.n, (n, 2))

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        return actions

    def from_env(self, actions: Any) -> np.ndarray:
        return np.asarray(actions)

    def read(self, values: np.ndarray, n: int, name: str) -> np.ndarray:
        return values.reshape(n, 2)

    def to_vector_env(self, actions: np.ndarray) -> Any:
        return actions

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "n": self.n}


class PairEnv(gym.Env[Any, Any]):
    """Six steps; each step pays the sum of the two numbers of its action."""

    observation_space: gym.Space[Any] = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space: gym.Space[Any] = gym.spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        over = self.t == 6
        return np.zeros(1, np.float32), float(np.sum(action)), over, False, {}
