"""A finite MDP as arrays, checked once when it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from policy_inertia.errors import InputError

_SUM_ERROR = 1e-9  # what rounding may do to a sum of probabilities


@dataclass(frozen=True, eq=False)
class MDP:
    """States 0..S-1, actions 0..A-1, and what comes of them.

    An episode begins in a state drawn from `rho` (default: any, equally likely). Action a in state
    s earns `R[s, a]`; then the episode ends with probability `ends[s, a]` (default: never), or goes
    on in s' with probability `P[s, a, s']`. Each row of `P` and its `ends` sum to one: an end is no
    state, nothing is decided there and its value is 0. With a `horizon` an episode has at most so
    many steps, and policies, values and `mu` may have a leading axis for the time.
    """

    P: np.ndarray  # (S, A, S)
    R: np.ndarray  # (S, A)
    gamma: float
    horizon: int | None = None
    rho: np.ndarray | None = None  # (S,)
    ends: np.ndarray | None = None  # (S, A)
    name: str = "MDP"

    def __post_init__(self) -> None:
        P = _numbers("P", self.P)
        if P.ndim != 3 or P.shape[0] != P.shape[2] or 0 in P.shape:
            raise InputError(
                f"P has shape {P.shape}: give P[s, a, s'], of shape (states, actions, states)"
            )
        S, A, _ = P.shape
        R = _numbers("R", self.R, (S, A))
        ends = _numbers("ends", np.zeros((S, A)) if self.ends is None else self.ends, (S, A))
        rho = _numbers("rho", np.full(S, 1 / S) if self.rho is None else self.rho, (S,))
        _refuse_negative("P", P)
        _refuse_negative("ends", ends)
        _refuse_negative("rho", rho)
        total = P.sum(-1) + ends
        if abs(total - 1).max() > _SUM_ERROR:
            s, a = np.unravel_index(abs(total - 1).argmax(), total.shape)
            raise InputError(
                f"P[{s}, {a}] and ends[{s}, {a}] sum to {total[s, a]:.6g}: what follows state {s} "
                f"and action {a} must sum to 1, so put the rest into P or into ends"
            )
        if abs(rho.sum() - 1) > _SUM_ERROR:
            raise InputError(f"rho sums to {rho.sum():.6g}: the first states must sum to 1")
        if not 0 <= self.gamma <= 1:
            raise InputError(f"gamma is {self.gamma}: it must lie in [0, 1]")
        if self.horizon is None:
            if self.gamma == 1:
                raise InputError("gamma is 1 without a horizon: give a horizon, or gamma below 1")
        elif not isinstance(self.horizon, int | np.integer) or self.horizon < 1:
            raise InputError(f"horizon is {self.horizon}: it must be a whole number, at least 1")
        for name, array in (("P", P), ("R", R), ("rho", rho), ("ends", ends)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def states(self) -> int:
        return self.P.shape[0]

    @property
    def actions(self) -> int:
        return self.P.shape[1]

    @property
    def start(self) -> np.ndarray:
        """`rho`, which is never None once the MDP is made."""
        assert self.rho is not None
        return self.rho

    @property
    def stops(self) -> np.ndarray:
        """`ends`, likewise."""
        assert self.ends is not None
        return self.ends

    @cached_property
    def steps(self) -> float:
        """How many steps an episode weighs if nothing ends it: T, or 1 / (1 - gamma)."""
        return float(self.horizon) if self.horizon else 1 / (1 - self.gamma)

    @cached_property
    def one_length(self) -> bool:
        """Whether all episodes have the same number of steps."""
        return not self.stops.any()

    def later(self, power: int = 0) -> float:
        """sum over t >= 1 of t**power gamma**t, until the horizon: what later steps weigh."""
        if self.horizon:
            return math.fsum(t**power * self.gamma**t for t in range(1, self.horizon))
        return self.gamma / (1 - self.gamma) ** (1 + power)

    def core(self, core: Any) -> np.ndarray:
        """A checked core, (S, A), with a leading axis for the time where there is a horizon."""
        return self._policy("the core", core, (self.states, self.actions))

    def mixed(self, pi: Any) -> np.ndarray:
        """A checked mixed policy, (S, A + 1, A), likewise."""
        return self._policy("the mixed policy", pi, (self.states, self.actions + 1, self.actions))

    def _policy(self, name: str, policy: Any, stationary: tuple[int, ...]) -> np.ndarray:
        policy = np.asarray(policy, float)
        full = (self.horizon, *stationary) if self.horizon else stationary
        if policy.shape not in (stationary, full):
            raise InputError(f"{name} has shape {policy.shape}: for {self.name} give {full}")
        if not (policy >= 0).all() or abs(policy.sum(-1) - 1).max() > _SUM_ERROR:
            raise InputError(f"the rows of {name} must be probabilities that sum to 1")
        return np.broadcast_to(policy, full)


def _numbers(name: str, values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    try:
        array = np.array(values, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} is no array of numbers: give nested lists or an array") from None
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}: P is for {shape}")
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(f"{name}{place} is {array[tuple(place)]}: every entry must be finite")
    return array


def _refuse_negative(name: str, array: np.ndarray) -> None:
    if (array < 0).any():
        place = np.argwhere(array < 0)[0].tolist()
        raise InputError(f"{name}{place} is {array[tuple(place)]:g}: no probability is negative")
