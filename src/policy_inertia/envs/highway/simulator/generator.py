"""NumPy's PCG64 generator in compiled code: the same draws from the same seed, one per env.

Numba takes a NumPy `Generator` as an argument, but not a batch of them. Here a generator is six
64-bit words of an env's state, so a batch of any size is stepped, copied and saved as one array.
"""

from __future__ import annotations

import math

import numpy as np

# the tables of the ziggurat method; Numba has them for its own support of `Generator`
from numba.np.random._constants import (
    fi_double,
    ki_double,
    wi_double,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)

from policy_inertia.envs.highway.simulator.jit import compiled, inlined

STATE_SIZE = 6  # state (high, low), increment (high, low), is half a word left over, that half

_HIGH, _LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF = np.uint64(0xFFFFFFFF)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_8, _11, _32, _58, _63, _64 = (np.uint64(n) for n in (8, 11, 32, 58, 63, 64))
_BYTE, _MANTISSA = np.uint64(0xFF), np.uint64(0x000FFFFFFFFFFFFF)
_UNIT = 1.0 / 9007199254740992.0


def from_seed(seed: int | None) -> np.ndarray:
    """Return the state of the generator that Gymnasium makes from a seed."""
    return from_numpy(np.random.PCG64(np.random.SeedSequence(seed)))


def from_numpy(generator: np.random.PCG64) -> np.ndarray:
    """Return the state of a NumPy generator as six 64-bit words."""
    raw = generator.state
    state, increment = raw["state"]["state"], raw["state"]["inc"]
    low = (1 << 64) - 1
    return np.array(
        [
            state >> 64,
            state & low,
            increment >> 64,
            increment & low,
            raw["has_uint32"],
            raw["uinteger"],
        ],
        np.uint64,
    )


def to_numpy(state: np.ndarray) -> np.random.Generator:
    """Return NumPy's generator in the given state."""
    high, low, increment_high, increment_low, has_half, half = (int(word) for word in state)
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": (high << 64) | low, "inc": (increment_high << 64) | increment_low},
        "has_uint32": has_half,
        "uinteger": half,
    }
    return np.random.Generator(bits)


@inlined
def _multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    a_low, a_high = a & _HALF, a >> _32
    b_low, b_high = b & _HALF, b >> _32
    crossed, other = a_low * b_high, a_high * b_low
    middle = ((a_low * b_low) >> _32) + (crossed & _HALF) + (other & _HALF)
    return a_high * b_high + (crossed >> _32) + (other >> _32) + (middle >> _32)


@compiled
def next_word(rng: np.ndarray) -> np.uint64:
    """Draw 64 random bits."""
    high, low = rng[0], rng[1]
    product = low * _LOW
    next_low = product + rng[3]
    carry = _ONE if next_low < product else _ZERO
    next_high = _multiply_high(low, _LOW) + low * _HIGH + high * _LOW + rng[2] + carry
    rng[0], rng[1] = next_high, next_low
    rotation, mixed = next_high >> _58, next_high ^ next_low
    return (mixed >> rotation) | (mixed << ((_64 - rotation) & _63))


@compiled
def _next_half(rng: np.ndarray) -> np.uint64:
    if rng[4] != _ZERO:
        rng[4] = _ZERO
        return rng[5]
    word = next_word(rng)
    rng[4] = _ONE
    rng[5] = word >> _32
    return word & _HALF


@compiled
def random(rng: np.ndarray) -> float:
    """Draw from the uniform distribution on [0, 1)."""
    return (next_word(rng) >> _11) * _UNIT


@inlined
def uniform(rng: np.ndarray, low: float, high: float) -> float:
    return low + (high - low) * random(rng)


@compiled
def integers(rng: np.ndarray, n: int) -> np.int64:
    """Draw one of 0 to n - 1 by Lemire's method; n = 1 takes no draw."""
    if n <= 1:
        return np.int64(0)
    bound = np.uint64(n)
    product = _next_half(rng) * bound
    left = product & _HALF
    if left < bound:
        threshold = (_HALF - (bound - _ONE)) % bound
        while left < threshold:
            product = _next_half(rng) * bound
            left = product & _HALF
    return np.int64(product >> _32)


@compiled
def normal(rng: np.ndarray) -> float:
    """Draw from the standard normal distribution by the ziggurat method."""
    while True:
        bits = next_word(rng)
        layer = np.int64(bits & _BYTE)
        bits = bits >> _8
        distance = (bits >> _ONE) & _MANTISSA
        x = distance * wi_double[layer]
        if bits & _ONE:
            x = -x
        if distance < ki_double[layer]:
            return x
        if layer == 0:
            while True:
                beyond = -ziggurat_nor_inv_r * math.log1p(-random(rng))
                height = -math.log1p(-random(rng))
                if height + height > beyond * beyond:
                    tail = ziggurat_nor_r + beyond
                    return -tail if (distance >> _8) & _ONE else tail
        elif (fi_double[layer - 1] - fi_double[layer]) * random(rng) + fi_double[layer] < math.exp(
            -0.5 * x * x
        ):
            return x


@compiled
def two_of_four(rng: np.ndarray) -> tuple[int, int]:
    """Draw as NumPy's `choice(range(4), size=2, replace=False)`: Floyd's sample, shuffled."""
    first, second = integers(rng, 3), integers(rng, 4)
    if second == first:
        second = 3
    if integers(rng, 2) == 0:
        first, second = second, first
    return first, second
