"""Gradients by finite differences."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp


def finite_difference(loss: Callable[[Any], Any], x: np.ndarray, step: float = 1e-5) -> None:
    """Assert that JAX's gradient of a loss is that of central differences, in float64."""
    with jax.enable_x64(True):
        gradient = np.asarray(jax.grad(loss)(jnp.asarray(x)))
        moves = step * np.eye(len(x))
        differences = [float(loss(jnp.asarray(x + m)) - loss(jnp.asarray(x - m))) for m in moves]
    np.testing.assert_allclose(gradient, np.array(differences) / (2 * step), rtol=1e-4, atol=1e-7)
