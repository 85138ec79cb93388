"""The few data types that every layer shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from policy_inertia.actions.space import ActionSpace

Array = Any  # a NumPy or a JAX array: the same functions serve both
Tree = Any  # a pytree of arrays


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


class Spec(NamedTuple):
    """The sizes of a task that a learner needs to know."""

    obs_dim: int
    actions: ActionSpace
    core_outputs: int = 0
    """How many of the last numbers of an observation are a frozen core's outputs: networks do not
    see them."""
    image: tuple[int, int, int] | None = None
    """Channels, height and width, where observations are pixels."""
