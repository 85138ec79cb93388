"""A finite MDP as arrays, checked when it is created."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policy_inertia.errors import InputError

_SUM_TOLERANCE = 1e-9  # rounding may move a sum of probabilities by this much


@dataclass(frozen=True, eq=False, init=False)
class MDP:
    """A finite MDP with states 0..S-1 and actions 0..A-1; its arrays are read-only.

    An episode starts in a state drawn from `rho`. Action a in state s earns `R[s, a]`. Then the
    episode ends with probability `ends[s, a]`, or continues in state s' with probability
    `P[s, a, s']`. An end is not a state: nothing is decided there, and its value is 0.
    """

    P: np.ndarray  # (S, A, S)
    R: np.ndarray  # (S, A)
    gamma: float
    horizon: int | None
    rho: np.ndarray  # (S,)
    ends: np.ndarray  # (S, A)
    name: str

    def __init__(
        self,
        P: ArrayLike,  # noqa: N803 - the field's own letters
        R: ArrayLike,  # noqa: N803
        gamma: float,
        horizon: int | None = None,
        rho: ArrayLike | None = None,
        ends: ArrayLike | None = None,
        name: str = "MDP",
    ) -> None:
        """Check the arrays and copy them.

        Args:
            P: Transition probabilities, (S, A, S). Each row plus its `ends` must sum to 1.
            R: Expected rewards, (S, A).
            gamma: Discount factor. It may be 1 only with a horizon.
            horizon: Largest number of steps of an episode. With a horizon, policies, values and
                `mu` may have a leading time axis.
            rho: Distribution of the first state, (S,). Default: uniform.
            ends: Probability that the episode ends after (s, a), (S, A). Default: 0.
            name: Name in tables, plots and error messages.

        Raises:
            InputError: An array has the wrong shape, or is not a distribution.
        """
        P = _numbers("P", P)
        if P.ndim != 3 or P.shape[0] != P.shape[2] or 0 in P.shape:
            raise InputError(
                f"P has shape {P.shape}: give P[s, a, s'], of shape (states, actions, states)"
            )
        S, A, _ = P.shape
        R = _numbers("R", R, (S, A))
        ends = _numbers("ends", np.zeros((S, A)) if ends is None else ends, (S, A))
        rho = _numbers("rho", np.full(S, 1 / S) if rho is None else rho, (S,))
        _refuse_negative("P", P)
        _refuse_negative("ends", ends)
        _refuse_negative("rho", rho)
        total = P.sum(-1) + ends
        if abs(total - 1).max() > _SUM_TOLERANCE:
            s, a = np.unravel_index(abs(total - 1).argmax(), total.shape)
            raise InputError(
                f"P[{s}, {a}] and ends[{s}, {a}] sum to {total[s, a]:.6g}: they must sum to 1, so "
                "put the rest into P or into ends"
            )
        if abs(rho.sum() - 1) > _SUM_TOLERANCE:
            raise InputError(f"rho sums to {rho.sum():.6g}: it must sum to 1")
        _check_time(gamma, horizon)
        for array in (P, R, rho, ends):
            array.flags.writeable = False
        values = {"P": P, "R": R, "gamma": gamma, "horizon": horizon, "rho": rho, "ends": ends}
        for field, value in {**values, "name": name}.items():
            object.__setattr__(self, field, value)

    @property
    def states(self) -> int:
        """Number of states, S."""
        return self.P.shape[0]

    @property
    def actions(self) -> int:
        """Number of actions, A."""
        return self.P.shape[1]

    @cached_property
    def effective_horizon(self) -> float:
        """Weight of all steps of an episode that nothing ends: T, or 1 / (1 - gamma)."""
        return float(self.horizon) if self.horizon else 1 / (1 - self.gamma)

    def discount_sum(self, power: int = 0) -> float:
        """Sum of t**power * gamma**t over t >= 1 and below the horizon."""
        if self.horizon:
            return math.fsum(t**power * self.gamma**t for t in range(1, self.horizon))
        return self.gamma / (1 - self.gamma) ** (1 + power)

    def check_core(self, core: ArrayLike) -> np.ndarray:
        """Check a core policy.

        Args:
            core: Probabilities `core[s, a]`, (S, A), or (T, S, A) with a horizon T.

        Returns:
            The core as an array, (S, A), or (T, S, A) with a horizon.

        Raises:
            InputError: The shape is wrong, or a row is not a distribution.
        """
        return self._check_policy("the core", core, (self.states, self.actions))

    def check_mixed(self, pi: ArrayLike) -> np.ndarray:
        """Check a mixed policy `pi[s, a_prev, a]`, (S, A + 1, A); see `check_core`."""
        shape = (self.states, self.actions + 1, self.actions)
        return self._check_policy("the mixed policy", pi, shape)

    def _check_policy(self, name: str, policy: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
        policy = np.asarray(policy, float)
        full = (self.horizon, *shape) if self.horizon else shape
        if policy.shape not in (shape, full):
            raise InputError(f"{name} has shape {policy.shape}: for {self.name} give {full}")
        if not (policy >= 0).all() or abs(policy.sum(-1) - 1).max() > _SUM_TOLERANCE:
            raise InputError(f"the rows of {name} must be probabilities that sum to 1")
        return np.broadcast_to(policy, full)


def _check_time(gamma: float, horizon: Any) -> None:
    if not 0 <= gamma <= 1:
        raise InputError(f"gamma is {gamma}: it must lie in [0, 1]")
    if horizon is None:
        if gamma == 1:
            raise InputError("gamma is 1 without a horizon: give a horizon, or gamma below 1")
    elif not isinstance(horizon, int | np.integer) or horizon < 1:
        raise InputError(f"horizon is {horizon}: it must be a whole number, at least 1")


def _numbers(name: str, values: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    try:
        array = np.array(values, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is not an array of numbers: give nested lists or an array"
        ) from None
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}: with this P it must be {shape}")
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(f"{name}{index} is {array[tuple(index)]}: every entry must be finite")
    return array


def _refuse_negative(name: str, array: np.ndarray) -> None:
    if (array < 0).any():
        index = np.argwhere(array < 0)[0].tolist()
        raise InputError(
            f"{name}{index} is {array[tuple(index)]:g}: a probability must be at least 0"
        )
