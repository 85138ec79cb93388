"""Continuous actions: numbers within finite bounds, scaled to [-1, 1] inside the library."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import gymnasium as gym
import numpy as np

from policy_inertia.actions.bucket import TOKEN
from policy_inertia.errors import InputError
from policy_inertia.types import Array

LARGEST_BOUND = 1e30
"""Bounds from here on, such as the largest float32, stand for no bound at all."""
MOST_NUMBERS = 100_000
"""In one action."""
ROUNDING = 1e-5
"""An action may be so far outside its bounds, as a share of the range: rounding of float32."""
SHOWN = 8
"""Bounds that messages name."""
TOLERANCE = 0.01
"""Moves up to this share of the range count as none where switches are counted."""


@dataclass(frozen=True)
class Box:
    """Actions of `d` numbers with finite bounds.

    Inside the library an action is a row of `d` numbers from -1 (the lower bound) to 1 (the upper
    bound), and the null action is a row of NaN. The env's actions may have any shape; the rows are
    in C order. Policies act in float64, so that scaling there and back changes no float32.

    Attributes:
        low: The lower bounds, as the env has them.
        high: The upper bounds.
        env_shape: The shape of the env's actions; their numbers are `d`.
        precision: The type of the env's actions.
        tolerance: Moves up to this share of the range count as none where switches are counted.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    env_shape: tuple[int, ...]
    precision: Literal["float32", "float64"] = "float32"
    tolerance: float = TOLERANCE

    kind: ClassVar[str] = "box"
    finite: ClassVar[bool] = False
    dtype: ClassVar[np.dtype] = np.dtype(np.float32)

    def __post_init__(self) -> None:
        size = math.prod(self.env_shape)
        if min(self.env_shape, default=1) < 1 or size > MOST_NUMBERS:
            raise InputError(
                f"actions of shape {list(self.env_shape)[:8]}: a Box of actions has 1 to "
                f"{MOST_NUMBERS:,} numbers"
            )
        if not len(self.low) == len(self.high) == size:
            raise InputError(
                f"{len(self.low)} lower and {len(self.high)} upper bounds for {size} numbers: give "
                "each number its own two"
            )
        for i, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            self._refuse_bad_bounds(i, low, high)
        if not 0 <= self.tolerance < 1:
            raise InputError(
                f"the tolerance is {self.tolerance}: give a share of the range, such as 0.01"
            )

    @staticmethod
    def _refuse_bad_bounds(i: int, low: float, high: float) -> None:
        if not (abs(low) < LARGEST_BOUND and abs(high) < LARGEST_BOUND):
            bounds = {"lower": low, "upper": high}
            missing = [name for name, at in bounds.items() if not abs(at) < LARGEST_BOUND]
            raise InputError(
                f"number {i} of the actions has no {' and no '.join(missing)} bound: movement is "
                "measured as a share of the range, so wrap the env in "
                "gymnasium.wrappers.RescaleAction or give its Box finite bounds"
            )
        if not low < high:
            raise InputError(
                f"number {i} of the actions goes from {low:g} to {high:g}: there is nothing to "
                "choose, so leave it out of the action space"
            )

    @classmethod
    def from_gym(cls, space: gym.Space[Any]) -> Box | None:
        """The same space as Gymnasium describes it; None for another kind of space.

        Raises:
            InputError: The Box is unbounded, empty or has whole numbers.
        """
        if not isinstance(space, gym.spaces.Box):
            return None
        if space.dtype not in (np.float32, np.float64):
            raise InputError(
                f"the actions are of type {space.dtype}: a Box of actions has float32 or float64, "
                "and whole numbers are Discrete or MultiDiscrete"
            )
        low, high = (tuple(map(float, bound.ravel())) for bound in (space.low, space.high))
        return cls(low, high, tuple(map(int, space.shape)), str(space.dtype))  # type: ignore[arg-type]

    @classmethod
    def from_values(cls, values: np.ndarray) -> tuple[Box, np.ndarray, tuple[str, ...]] | None:
        """A space for logged actions `(n, d)`, whose bounds are the smallest and the largest number
        of the log, and the actions scaled; None for one number per action, or no numbers."""
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            return None
        rows = values.astype(float)
        low, high = rows.min(0), rows.max(0)
        high = np.where(high > low, high, low + 1)  # a number that never moves has any range
        space = cls(tuple(low.tolist()), tuple(high.tolist()), values.shape[1:], "float64")
        return space, space.from_env(rows), ()

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.low),)

    @property
    def width(self) -> int:
        return len(self.low) + 1

    @cached_property
    def middle(self) -> np.ndarray:
        """The middle of the bounds, in the env's units: 0 inside."""
        return (np.array(self.low) + self.high) / 2

    @cached_property
    def half_range(self) -> np.ndarray:
        """Half of the range, in the env's units: 1 inside."""
        return (np.array(self.high) - self.low) / 2

    def with_repeats(self, repeats: tuple[int, ...]) -> Box:
        """The choices of a policy that holds every action for a fixed number of steps.

        Raises:
            InputError: There are several numbers: only Discrete actions are chosen with one.
        """
        if len(repeats) > 1:
            raise InputError(
                f"repeats is {repeats} and the actions are continuous: give one number of steps"
            )
        return self

    def null(self, n: int) -> np.ndarray:
        return np.full((n, len(self.low)), np.nan)

    def is_null(self, actions: Array) -> Array:
        return (actions != actions).all(-1)

    def contains(self, actions: Array) -> Array:
        inside: Any = np.abs(actions) <= 1
        return inside.all(-1)

    def equal(self, a: Array, b: Array) -> Array:
        return ((a == b) | ((a != a) & (b != b))).all(-1)

    def close(self, a: Array, b: Array) -> Array:
        """Which pairs differ by no more than the tolerance in every number."""
        return (np.abs(a - b) <= 2 * self.tolerance).all(-1) | self.equal(a, b)

    def distance(self, a: Array, b: Array) -> Array:
        """The mean over the numbers of |a - b| as a share of the range; 1 from null to another."""
        share = np.abs(a - b).mean(-1) / 2
        return np.where(share != share, ~self.equal(a, b), share)

    def cost(self, previous: Array, actions: Array) -> Array:
        """A move over the whole range in every number takes one token; half the way takes half."""
        tokens = np.ceil(self.distance(previous, actions) * TOKEN).astype(np.int32)
        return np.where(self.is_null(previous), np.int32(0), tokens)

    def encode(self, actions: Array, xp: Any = np) -> Array:
        """The numbers and a 1 behind them; zeros for the null action, which no action has."""
        known = ~self.is_null(actions)[..., None]
        numbers = xp.where(known, actions, 0)
        return xp.concatenate([numbers, known], axis=-1).astype(np.float32)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.uniform(-1, 1, (n, len(self.low))).astype(self.dtype)

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        values = np.clip(self.middle + self.half_range * actions, self.low, self.high)
        return values.astype(self.precision).reshape(len(actions), *self.env_shape)

    def from_env(self, actions: Any) -> np.ndarray:
        return self.read(np.asarray(actions), len(actions), "the policy")

    def to_vector_env(self, actions: np.ndarray) -> np.ndarray:
        return self.to_env(actions)

    def read(self, values: np.ndarray, n: int, name: str) -> np.ndarray:
        """The actions that a policy returned for `n` observations; `name` is the policy's.

        Raises:
            InputError: They have another shape, are NaN, or lie outside the bounds.
        """
        d = len(self.low)
        if values.size != n * d or values.shape[:1] != (n,):
            raise InputError(
                f"{name} gave actions of shape {values.shape} for {n} observations: expected "
                f"{(n, *self.env_shape)}"
            )
        if values.dtype.kind not in "biuf":
            raise InputError(f"{name} gave actions of type {values.dtype}: expected numbers")
        rows = (values.reshape(n, d) - self.middle) / self.half_range
        if not (abs(rows) <= 1 + 2 * ROUNDING).all():
            self._refuse(values.reshape(n, d), rows, name)
        return np.clip(rows, -1, 1)

    def _refuse(self, values: np.ndarray, rows: np.ndarray, name: str) -> None:
        row, i = np.argwhere(~(abs(rows) <= 1 + 2 * ROUNDING))[0].tolist()
        value = values[row, i]
        if not np.isfinite(value):
            raise InputError(
                f"{name} gave {value} as number {i} of an action: expected finite numbers, so look "
                "for what it divides or overflows"
            )
        raise InputError(
            f"{name} gave {value:g} as number {i} of an action, and its bounds are "
            f"{self.low[i]:g} and {self.high[i]:g}: clip the policy's actions, or check that it "
            "was trained with these bounds"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    def __str__(self) -> str:
        low, high = (list(dict.fromkeys(bounds)) for bounds in (self.low, self.high))
        if len(low) == len(high) == 1:
            return f"Box of shape {self.env_shape} from {low[0]:g} to {high[0]:g}"
        lows, highs = (_few(bounds) for bounds in (self.low, self.high))
        return f"Box of shape {self.env_shape} from {lows} to {highs}"


def _few(bounds: tuple[float, ...]) -> str:
    """The first bounds as text."""
    texts = [f"{bound:g}" for bound in bounds[:SHOWN]]
    return f"[{', '.join(texts)}{', ...' if len(bounds) > SHOWN else ''}]"


class Point(NamedTuple):
    """A policy that takes one certain action in each row."""

    actions: Array

    def mode(self) -> np.ndarray:
        return np.asarray(self.actions)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.actions)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        return np.asarray(np.equal(self.actions, actions).all(-1), np.float32)
