"""Limits in training: how they are drawn, and what networks see of a limit and its tokens.

Rates, bursts and tokens are whole numbers, in millionths of a token (see `actions/bucket.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.actions.bucket import TOKEN, Limit
from policy_inertia.types import Array, Number

FREE = 0.3
"""The share of draws without a limit."""
COUNTED = 0.15
"""The share of draws with a rate of 0."""
LEAST_NOISE = 0.005
"""The share of steps in which the core acts at a rate of 0."""
DECADES = 2.5
"""The smallest positive rate is this many powers of ten below 1, if rates of 0 are learned too."""
WAITS = ((1, 5), (1, 25), (2, 25), (3, 25))
"""Networks see how soon there will be k tokens, as h / (h + steps until then), for these (k, h)."""
_WAITS, _HORIZONS = np.array(WAITS, np.float32).T
FEATURES = 5 + len(WAITS)
"""How many numbers networks see of a limit and its tokens."""


def draw_rate(u: Array, xp: Any = jnp, unit: int = TOKEN, smallest: float = 0.0) -> Array:
    """Turn `u`, uniform in [0, 1), into a rate: none (`unit`), 0, or uniform in its logarithm.

    Args:
        u: Numbers in [0, 1).
        xp: The array module.
        unit: What the dearest switch takes.
        smallest: The smallest rate, as a share of `unit`.
    """
    counted, decades = (COUNTED, DECADES) if smallest == 0 else (0.0, -np.log10(smallest))
    exponent = ((u - FREE - counted) / (1 - FREE - counted) - 1) * np.float32(decades)
    rate = xp.where(u < FREE + counted, 0.0, 10.0 ** xp.minimum(exponent, 0.0))
    return xp.where(u < FREE, unit, xp.floor(rate * unit)).astype(np.int32)


def after_free(u: Array, free: int) -> Array:
    """Numbers for `draw_rate` that are below FREE in the first `free` places, and only there."""
    return jnp.where(jnp.arange(len(u)) < free, 0.0, FREE + (1 - FREE) * u)


def draw_burst(u: Array, full: int, xp: Any = jnp, unit: int = TOKEN) -> Array:
    """Turn `u`, uniform in [0, 1), into a burst: a multiple of `unit`, or `full`, the most."""
    tokens = 1 + xp.floor(u * np.float32(-(-full // unit)))
    return xp.minimum(tokens.astype(np.int32) * unit, full)


def noise(rate: np.ndarray, most: float, per_token: float | None) -> np.ndarray:
    """(B,) or (B, 1) rates per step -> (B,) the share of steps in which the core acts.

    Args:
        rate: How many switches a limit gives for each step.
        most: The share without a limit.
        per_token: The share for each of those switches; None: `most`, whatever the limit.
    """
    if per_token is None:
        return np.full(len(rate), most)
    return np.minimum(most, per_token * rate.reshape(len(rate)) + LEAST_NOISE)


def draw_limits(
    limit: Limit | None,
    u_rate: Array,
    u_burst: Array,
    full: int,
    xp: Any = jnp,
    unit: int = TOKEN,
    smallest: float = 0.0,
) -> tuple[Array, Array]:
    """Rates and bursts by `draw_rate` and `draw_burst`, or those of one limit alone."""
    if limit is None:
        return draw_rate(u_rate, xp, unit, smallest), draw_burst(u_burst, full, xp, unit)
    rate, burst = limit.rate_units, limit.burst_units
    return xp.full_like(u_rate, rate, np.int32), xp.full_like(u_burst, burst, np.int32)


def draw_level(u: Array, cost: Array, burst: Array, xp: Any = jnp) -> Array:
    """Turn `u`, uniform in [0, 1), into a level of tokens that can pay `cost`.

    In half of the draws it is a whole number of tokens, as it is where the rate is 0.
    """
    whole, v = u < 0.5, (2 * u) % 1.0
    room = burst - cost
    # 1e-6 more: the full bucket is one of the levels
    level = xp.where(whole, xp.floor(v * (room // TOKEN + 1)) * TOKEN, v * (room + 1))
    return xp.minimum(cost + level.astype(np.int32), burst)


def features(
    tokens: Array, rate: Number, burst: Number, full: int, xp: Any = jnp, unit: int = TOKEN
) -> Array:
    """The inputs of a network for a limit and its tokens: (...) -> (..., FEATURES), from 0 to 1.

    Without a limit (a rate of `unit`, which the dearest switch takes) neither tokens nor burst
    matter, so all such inputs are the same.
    Nothing beyond the largest burst, `full`, was learned.
    """
    free = rate >= np.int32(unit)
    tokens = xp.where(free, full, xp.minimum(tokens, full))
    burst = xp.where(free, full, xp.minimum(burst, full))
    t, r, b = (xp.asarray(x * np.float32(1 / unit), np.float32) for x in (tokens, rate, burst))
    largest = np.float32(full / unit)
    columns = (
        xp.log1p(100.0 * r) * np.float32(1 / np.log(101.0)),
        free,
        t / largest,
        tokens >= unit,
        b / largest,
    )
    missing = xp.maximum(_WAITS - t[..., None], 0.0)
    earned = r[..., None] * _HORIZONS + np.float32(1e-6)
    soon = earned / (earned + missing)  # h / (h + steps until there are so many tokens)
    columns = tuple(xp.broadcast_to(c, t.shape).astype(np.float32) for c in columns)
    return xp.concatenate([xp.stack(columns, -1), soon], -1)


def spread(count: Array, n: int, dimensions: int = 3) -> list[Array]:
    """Fill the unit cube evenly with `n` points for each `count`, and go on from one to the next.

    It is the additive sequence of the generalised golden ratio. Nothing is drawn in the learner.
    """
    ratio = 1.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    index = count.astype(jnp.uint32) * np.uint32(n) + jnp.arange(n, dtype=jnp.uint32)
    points = []
    for k in range(1, dimensions + 1):
        step = np.uint32(round(2.0**32 / ratio**k))
        # the upper 24 bits: a float32 holds them exactly, so no number is rounded up to 1
        points.append(((index * step) >> 8).astype(jnp.float32) * np.float32(2.0**-24))
    return points


def scattered(count: Array, n: int, heads: int) -> Array:
    """Numbers in [0, 1) that look random, `(n, heads)`, others for each `count`.

    There may be so many heads that no sequence fills their cube evenly, so a hash serves.
    """
    rows = count.astype(jnp.uint32) * np.uint32(n) + jnp.arange(n, dtype=jnp.uint32)
    x: Any = rows[:, None] * np.uint32(heads) + jnp.arange(heads, dtype=jnp.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):  # MurmurHash3's last steps
        x = (x ^ (x >> shift)) * np.uint32(factor)
    return ((x ^ (x >> 16)) >> 8).astype(jnp.float32) * np.float32(2.0**-24)
