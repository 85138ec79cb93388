"""Networks as plain pytrees: perceptrons, and convolutions before them where there are pixels.

`xp` is the array module, `jax.numpy` or `numpy`: the learner compiles the very functions that
policies call on the host, where one observation takes microseconds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.envs.spec import Spec
from policy_inertia.networks.convolution import init_torso, torso, torso_size
from policy_inertia.types import Array, Tree


@dataclass(frozen=True)
class Network:
    """A network over a task's observations and, behind the convolutions, `extra` numbers."""

    spec: Spec
    hidden: tuple[int, ...]
    outputs: int
    extra: int = 0

    def init(
        self, rng: np.random.Generator, twins: int | None = None, zero_bias: bool = False
    ) -> Tree:
        """Parameters: a list of layers, under "head" where there is a "torso" of convolutions."""
        image = self.spec.image
        size = self.spec.obs_dim - self.spec.core_outputs if image is None else torso_size(image)
        convolutions = None if image is None else init_torso(rng, image, twins)
        sizes = (size + self.extra, *self.hidden, self.outputs)
        head = init_mlp(rng, sizes, twins, zero_bias)
        return head if convolutions is None else {"torso": convolutions, "head": head}

    def __call__(self, params: Tree, obs: Array, extra: Array = None, xp: Any = jnp) -> Array:
        """(B, obs_dim) and (B, extra) -> (B, outputs), or (2, B, outputs) for twins.

        `extra` may come in several arrays, to be joined.
        """
        if self.spec.core_outputs:
            obs = obs[..., : -self.spec.core_outputs]
        if self.spec.image is not None:
            obs = torso(params["torso"], obs, self.spec.image, xp)
            params = params["head"]
        if extra is not None:
            parts = extra if isinstance(extra, tuple) else (extra,)
            if obs.ndim > parts[0].ndim:  # twins' convolutions
                parts = tuple(xp.broadcast_to(e, (*obs.shape[:-1], e.shape[-1])) for e in parts)
            obs = xp.concatenate([obs, *parts], axis=-1)
        return mlp(params, obs, xp)


def init_mlp(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    twins: int | None = None,
    zero_bias: bool = False,
) -> Tree:
    """Weights uniform in +-1/sqrt(fan_in), as PyTorch's default; `twins` adds a leading axis.

    `zero_bias` zeroes the last bias, so that `mu` starts in the middle of its range.
    """
    layers = []
    lead = () if twins is None else (twins,)
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = fan_in**-0.5
        w = rng.uniform(-bound, bound, (*lead, fan_in, fan_out))
        b = rng.uniform(-bound, bound, (*lead, 1, fan_out))
        layers.append({"w": jnp.asarray(w, jnp.float32), "b": jnp.asarray(b, jnp.float32)})
    if zero_bias:
        layers[-1]["b"] = jnp.zeros_like(layers[-1]["b"])
    return layers


def mlp(params: Tree, x: Array, xp: Any = jnp) -> Array:
    """ReLU between layers, none after the last; (B, i) -> (B, o), or (2, B, o) for twins."""
    for layer in params[:-1]:
        x = xp.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ params[-1]["w"] + params[-1]["b"]


def one_hot(action: Array, n_actions: int, xp: Any = jnp) -> Array:
    """Rows of the identity, and a row of zeros for the null action -1."""
    return (action[..., None] == xp.arange(n_actions)).astype(np.float32)


def log_softmax(logits: Array, xp: Any = jnp) -> Array:
    """Log-probabilities from logits, stable for any finite input."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))
