"""The few data types that every layer shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:  # JAX takes long to import, and `policy-inertia --help` does not need it
    import jax
    import numpy as np

Array: TypeAlias = "np.ndarray | jax.Array"
"""An array of NumPy or of JAX: many functions serve both."""
Number: TypeAlias = "float | np.float32 | Array"
"""One number, or an array of numbers."""
Tree: TypeAlias = Any
"""Any pytree of arrays, such as a state or parameters: JAX has no type for them but Any."""
LayerParams: TypeAlias = "dict[str, Array]"
"""The weights "w" and biases "b" of one layer of a network."""


class Transition(NamedTuple):
    """One decision and its outcome, or a batch of them.

    `prev_action` is the null action at an episode's start. `discount` is
    `gamma**k * (1 - terminated)` for a decision held for k primitive steps. So time limits and
    repetition need no branch in any learner: a truncated episode keeps its discount and bootstraps.
    """

    obs: Array
    prev_action: Array
    action: Array
    reward: Array
    discount: Array
    next_obs: Array


class Preceded(NamedTuple):
    """A transition and the observation of the decision before, or a batch of them.

    At an episode's start, `prev_obs` is `obs` itself.
    """

    obs: Array
    prev_action: Array
    action: Array
    reward: Array
    discount: Array
    next_obs: Array
    prev_obs: Array
