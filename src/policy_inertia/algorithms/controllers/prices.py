"""The price of switching, lambda: how it is drawn, what networks see of it, how it changes Q.

Prices are handled as shares of the largest one, `lambda_max`, which follows what decisions are
worth. A price below 0 is a margin: the core's action is left only for one that is better by so
much.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.switching import Switching
from policy_inertia.algorithms import losses
from policy_inertia.errors import InputError
from policy_inertia.networks.perceptron import one_hot
from policy_inertia.types import Array, Number

FREE = 0.2
"""The share of draws in which switching costs nothing."""
DECADES = 2.5
"""The smallest positive price is this many powers of ten below lambda_max."""
FEATURES = 3
"""How many numbers networks see of a price."""
REFUND = 0.1
"""x0 where all steps earn the same reward."""


def draw(u: Array, xp: Any = jnp) -> Array:
    """Turn `u`, uniform in [0, 1), into lambda / lambda_max.

    A share FREE of the draws is 0; the rest is uniform in its logarithm.
    """
    exponent = (u - 1) * (DECADES / (1 - FREE))
    return xp.where(u < FREE, 0.0, 10.0**exponent).astype(np.float32)


def spread(count: Array, n: int) -> Array:
    """Fill [0, 1) evenly with `n` numbers, shifted by the golden ratio at each `count`.

    There is one number for each place of a minibatch. The transition at a place is drawn uniformly,
    so the number and the transition are independent. An even spread varies less than random draws.
    """
    step = np.uint32(2654435769)  # 2^32 / golden ratio; unsigned numbers wrap around
    offset = (count.astype(jnp.uint32) * step).astype(jnp.float32) * np.float32(2.0**-32)
    return ((jnp.arange(n, dtype=jnp.float32) + 0.5) / n + offset) % 1.0


def free_rows(u: Array) -> Array:
    """The places of a minibatch whose price is 0, and one or two beside them, from `spread`.

    How many there are is known before the values: a fifth of all, as one row of places (mod n).
    """
    n = len(u)
    rows = min(n, int(FREE * n) + 2)
    return (jnp.argmin(u) + jnp.arange(rows)) % n


def features(x: Array, xp: Any = jnp) -> Array:
    """The inputs of a network for x = lambda / lambda_max: (B,) -> (B, 3), each from 0 to 1."""
    return xp.stack([xp.log1p(100.0 * x) * (1 / np.log(101.0)), xp.sqrt(x), x], -1).astype(
        np.float32
    )


def earning(typical: Array, high: Array) -> Array:
    """How evenly steps earn reward: the typical reward over a high one, from 0 to 1."""
    return jnp.clip(typical / jnp.maximum(high, np.finfo(np.float32).tiny), 0, 1)


def charge(
    price: Number,
    prev_action: Array,
    action: Array,
    refund: Number,
    costs: np.ndarray | None = None,
) -> Array:
    """lambda (1[a != a_prev] - x0), which is subtracted from the reward.

    At an episode's start nothing can be switched, so there is neither a price nor a refund. With
    `costs`, a switch is charged costs[a_prev, a] times lambda.
    """
    switched = (action != prev_action).astype(np.float32)
    if costs is not None:
        n = len(costs)
        switched = ((one_hot(prev_action, n) @ costs) * one_hot(action, n)).sum(-1)
    return price * (switched - refund) * (prev_action >= 0)


def net(u: Array, price: Number, last: Array, costs: np.ndarray | None = None) -> Array:
    """Q(s, a_prev, .) = U(s, .) - lambda 1[. != a_prev], up to a constant: U + lambda `last`.

    `last` is a_prev's one-hot: zeros at an episode's start, where Q is U. What is the same for all
    actions is left out, such as the refund, since it changes no choice. With `costs`, an action
    costs costs[a_prev, .] times lambda.
    """
    return u + price * last if costs is None else u - price * (last @ costs)


def cost_table(costs: tuple[float, ...] | None, n_actions: int) -> np.ndarray | None:
    """The setting `costs` as an array (A, A); None where all switches cost the same.

    Raises:
        InputError: It is no table of costs for so many actions.
    """
    if costs is None:
        return None
    if len(costs) != n_actions**2:
        raise InputError(
            f"costs has {len(costs)} numbers: give {n_actions**2}, a row for each of the "
            f"{n_actions} actions, one row behind the other"
        )
    return Switching.of(np.reshape(costs, (n_actions, n_actions))).matrix


def refuse_price(price: Number, largest: Array) -> None:
    """Check the price that a dial is set to.

    Raises:
        InputError: A price is below that of the core itself, infinite or no number.
    """
    prices, lowest = np.asarray(price), 0.0 - float(largest)  # no -0
    valid = (prices >= lowest) & (prices <= np.finfo(np.float32).max)
    if not valid.all():
        raise InputError(
            f"the price is {prices[~valid][0]}: give a number from {lowest:g} (the core itself) "
            "over 0 (switching is free) upwards"
        )


def cost_and_margin(price: Number, largest: Array) -> tuple[Array, Array]:
    """The price of leaving a_prev, and the margin that a price below 0 stands for; on the host.

    A margin is what an action must be better by than the core's, in the unit of Q. At -lambda_max
    and below no action is better by enough, so that the core acts alone.
    """
    price = np.asarray(price, np.float32)
    core_alone = (price < 0) & (price <= -largest)
    margin = np.where(core_alone, -losses.IMPOSSIBLE, np.maximum(-price, np.float32(0)))
    return np.maximum(price, np.float32(0)), margin


def favour(q: Array, margin: Number, core: Array, xp: Any = jnp) -> Array:
    """Add the margin to the value of the core's action: another one must be better by so much.

    `core` is the one-hot of that action.
    """
    return q + xp.asarray(margin)[..., None] * core
