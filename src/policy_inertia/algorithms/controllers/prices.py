"""The price of switching, lambda: how it is drawn, what networks see of it, what it does to Q.

Prices are handled as shares of the largest one, `lambda_max`, which follows from the rewards seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.types import Array

FREE = 0.2  # the share of all draws in which switching costs nothing
DECADES = 2.5  # how far below lambda_max the smallest positive price lies
FEATURES = 3
REFUND = 0.1  # x0 where every step earns as much as any


def draw(u: Array, xp: Any = jnp) -> Array:
    """lambda / lambda_max for `u` uniform in [0, 1): 0 with probability FREE, else log-uniform."""
    exponent = (u - 1) * (DECADES / (1 - FREE))
    return xp.where(u < FREE, 0.0, 10.0**exponent).astype(np.float32)


def spread(count: Array, n: int) -> Array:
    """`n` numbers that fill [0, 1) evenly, moved on by the golden ratio at each `count`.

    One for each place of a minibatch. Which transition stands at a place is drawn uniformly, so the
    two are independent, as they must be; and an even spread varies less than draws would.
    """
    step = np.uint32(2654435769)  # 2^32 / golden ratio; unsigned numbers wrap, nothing is lost
    offset = (count.astype(jnp.uint32) * step).astype(jnp.float32) * np.float32(2.0**-32)
    return ((jnp.arange(n, dtype=jnp.float32) + 0.5) / n + offset) % 1.0


def features(x: Array, xp: Any = jnp) -> Array:
    """What a network sees of x = lambda / lambda_max: (B,) -> (B, 3), each from 0 to 1."""
    return xp.stack([xp.log1p(100.0 * x) * (1 / np.log(101.0)), xp.sqrt(x), x], -1).astype(
        np.float32
    )


def earning(typical: Array, largest: Array) -> Array:
    """How far steps earn anything: the typical reward over the largest one in size, from 0 to 1."""
    return jnp.clip(typical / jnp.maximum(largest, np.finfo(np.float32).tiny), 0, 1)


def charge(price: Array, prev_action: Array, action: Array, refund: Array | float) -> Array:
    """lambda (1[a != a_prev] - x0), what is taken from the reward; nothing at an episode's start.

    Without a previous action nothing can be switched, so there is neither a price nor a refund.
    """
    switched = (action != prev_action).astype(np.float32)
    return price * (switched - refund) * (prev_action >= 0)


def net(u: Array, price: Array, last: Array) -> Array:
    """Q(s, a_prev, .) = U(s, .) - lambda 1[. != a_prev], but for a constant: U + lambda `last`,
    where `last` is a_prev's one-hot (zeros at an episode's start, where Q is U).

    All that a Markov decision process remembers of the last action is what leaving it costs. What
    is the same for all actions is left out, the refund too: it changes no choice.
    """
    return u + price * last
