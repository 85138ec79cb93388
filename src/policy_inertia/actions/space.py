"""The interface of an action space and of a distribution over actions.

The training loop, replay, policies and evaluation use these operations only. A new kind of action
is one file beside `discrete.py` and one row in `kinds.py`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.types import Array


class ActionSpace(Protocol):
    """A set of actions and what can be done with them.

    Actions are arrays with a leading batch axis: `(n, *shape)` of `dtype`. The *null action* stands
    for "no previous action" at the start of an episode.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action; `()` for a single number."""

    @property
    def finite(self) -> bool:
        """Whether the actions are a finite list."""

    @property
    def dtype(self) -> np.dtype:
        """Type in which an action's numbers are stored, four bytes wide."""

    @property
    def width(self) -> int:
        """How many numbers `encode` gives for one action."""

    def null(self, n: int) -> np.ndarray:
        """`n` null actions."""

    def is_null(self, actions: Array) -> Array:
        """Which of the actions are null: `(n,)` booleans."""

    def contains(self, actions: Array) -> Array:
        """Which actions are in the set: `(n,)` booleans. The null action is not."""

    def equal(self, a: Array, b: Array) -> Array:
        """Which actions are the same: `(n,)` booleans. A null action equals only itself."""

    def close(self, a: Array, b: Array) -> Array:
        """Which actions count as the same where switches are counted: the equal ones, and
        continuous ones within a tolerance."""

    def distance(self, a: Array, b: Array) -> Array:
        """How far apart two actions are, from 0 (the same) to 1: `(n,)` floats."""

    def cost(self, previous: Array, actions: Array) -> Array:
        """What a move from `previous` takes out of a bucket of tokens: `(n,)` whole numbers, in
        millionths of a token (see `bucket.py`). From the null action every move is free."""

    def encode(self, actions: Array, xp: Any = np) -> Array:
        """What a network sees of actions: `(n, width)` float32; zeros for the null action."""

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """`n` uniformly random actions."""

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        """Actions as the env counts them."""

    def from_env(self, actions: Any) -> np.ndarray:
        """The inverse of `to_env`."""

    def read(self, values: np.ndarray, n: int, name: str) -> np.ndarray:
        """`from_env` of what somebody's policy returned for `n` observations, checked.

        Raises:
            InputError: These are no `n` actions of this space; `name` names the policy.
        """

    def to_vector_env(self, actions: np.ndarray) -> Any:
        """Actions in the form that a vector env steps fastest with."""

    def to_dict(self) -> dict[str, Any]:
        """The space as JSON, with its `kind`."""


class Distribution(Protocol):
    """A policy's distribution over actions for a batch of observations."""

    def mode(self) -> np.ndarray:
        """The most probable action of each row."""

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One action for each row."""

    def probability(self, actions: np.ndarray) -> np.ndarray:
        """The probability of exactly one action in each row: `(n,)`; 0 under a density."""


def select(mask: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Take `a`'s actions where the mask `(n,)` is true and `b`'s elsewhere."""
    if np.ndim(a) > 1:
        mask = mask.reshape(-1, *(1,) * (np.ndim(a) - 1))
    return np.where(mask, a, b)


def refuse_not_finite(values: np.ndarray, name: str) -> None:
    """Check the numbers that a policy returned; `name` is the policy's.

    Raises:
        InputError: One of them is NaN or infinite, or they are no numbers.
    """
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        what = "NaN or infinity" if values.dtype.kind == "f" else f"values of type {values.dtype}"
        raise InputError(f"{name} gave {what} for an observation: expected finite numbers")
