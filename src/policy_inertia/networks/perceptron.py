"""Networks as plain pytrees: perceptrons, with convolutions in front if observations are images.

Every function takes the array module `xp`, which is `jax.numpy` or `numpy`. The learner compiles
the same functions that policies call with NumPy, where one observation takes microseconds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import numpy as jnp

from policy_inertia.envs.spec import Spec
from policy_inertia.networks.convolution import init_torso, torso, torso_size
from policy_inertia.types import Array, LayerParams, Tree


@dataclass(frozen=True)
class Network:
    """A network from a task's observations, and `extra` more inputs, to `outputs` numbers."""

    spec: Spec
    hidden: tuple[int, ...]
    outputs: int
    extra: int = 0
    """Number of inputs besides the observation. They join it after the convolutions."""

    def init(
        self, rng: np.random.Generator, twins: int | None = None, zero_bias: bool = False
    ) -> Tree:
        """Draw parameters.

        Args:
            rng: Generator.
            twins: Number of networks in one tree of parameters, on a leading axis; None for one
                network without that axis.
            zero_bias: Set the last bias to zero, so that `mu` starts in the middle of its range.

        Returns:
            A list of layers, {"w": ..., "b": ...} each; or {"torso": layers, "head": layers} for
            images.
        """
        image = self.spec.image
        size = self.spec.obs_dim - self.spec.core_outputs if image is None else torso_size(image)
        convolutions = None if image is None else init_torso(rng, image, twins)
        sizes = (size + self.extra, *self.hidden, self.outputs)
        head = init_mlp(rng, sizes, twins, zero_bias)
        return head if convolutions is None else {"torso": convolutions, "head": head}

    def __call__(
        self,
        params: Tree,
        obs: Array,
        extra: Array | tuple[Array, ...] | None = None,
        xp: Any = jnp,
    ) -> Array:
        """Compute the outputs for a batch.

        Args:
            params: Parameters from `init`.
            obs: Observations, (B, obs_dim).
            extra: More inputs, (B, extra); or several arrays, which are joined.
            xp: The array module.

        Returns:
            The outputs, (B, outputs), or (twins, B, outputs).
        """
        obs, head = self._split(params, obs, xp)
        if extra is not None:
            parts = extra if isinstance(extra, tuple) else (extra,)
            if obs.ndim > parts[0].ndim:  # the convolutions of twins added an axis
                parts = tuple(xp.broadcast_to(e, (*obs.shape[:-1], e.shape[-1])) for e in parts)
            obs = xp.concatenate([obs, *parts], axis=-1)
        return mlp(head, obs, xp)

    def once_or_twice(
        self, params: Tree, obs: Array, extra: Array, inputs: Array, xp: Any = jnp
    ) -> Array:
        """Compute the outputs of n observations, and of the last m of them with other inputs too.

        Args:
            params: Parameters from `init`.
            obs: Observations, (n, obs_dim).
            extra: The first inputs besides the observation, (n, e).
            inputs: The last ones, (n + m, k): a row for each observation, then m second rows.
            xp: The array module.

        Returns:
            The outputs, (n + m, outputs), or (twins, n + m, outputs).
        """
        n, (rows, k) = len(obs), inputs.shape
        obs, head = self._split(params, obs, xp)
        if obs.ndim > extra.ndim:  # the convolutions of twins added an axis
            extra = xp.broadcast_to(extra, (*obs.shape[:-1], extra.shape[-1]))
        if xp is np and n == 1 and obs.ndim == 2:  # saves microseconds
            x = np.empty((rows, obs.shape[1] + extra.shape[1] + k), np.float32)
            x[:, : obs.shape[1]], x[:, obs.shape[1] : -k], x[:, -k:] = obs, extra, inputs
            return mlp(head, x, np)
        x = xp.concatenate([obs, extra], axis=-1)
        if xp is np:
            if rows > n:
                x = np.concatenate([x, x[..., 2 * n - rows :, :]], axis=-2)
            if x.ndim > inputs.ndim:
                inputs = np.broadcast_to(inputs, (*x.shape[:-1], k))
            return mlp(head, np.concatenate([x, inputs], axis=-1), np)
        # one product over the observations; a second row adds only its own inputs
        w = head[0]["w"]
        x = x @ w[..., :-k, :] + head[0]["b"]
        x = xp.concatenate([x, x[..., 2 * n - rows :, :]], axis=-2) + inputs @ w[..., -k:, :]
        return mlp(head[1:], xp.maximum(x, 0), xp) if len(head) > 1 else x

    def _split(self, params: Tree, obs: Array, xp: Any) -> tuple[Array, list[LayerParams]]:
        """The features of observations, and the layers behind them."""
        if self.spec.core_outputs:
            obs = obs[..., : -self.spec.core_outputs]
        if self.spec.image is None:
            return obs, params
        return torso(params["torso"], obs, self.spec.image, xp), params["head"]


def init_mlp(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    twins: int | None = None,
    zero_bias: bool = False,
) -> list[LayerParams]:
    """Draw the layers of a perceptron, uniform in +-1/sqrt(fan_in) as in PyTorch.

    Args:
        rng: Generator.
        sizes: Numbers of inputs, of units of each hidden layer, and of outputs.
        twins: Size of a leading axis, for several networks at once.
        zero_bias: Set the last bias to zero.

    Returns:
        The layers, with w (inputs, outputs) and b (1, outputs).
    """
    layers: list[LayerParams] = []
    lead = () if twins is None else (twins,)
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = fan_in**-0.5
        w = rng.uniform(-bound, bound, (*lead, fan_in, fan_out))
        b = rng.uniform(-bound, bound, (*lead, 1, fan_out))
        layers.append({"w": jnp.asarray(w, jnp.float32), "b": jnp.asarray(b, jnp.float32)})
    if zero_bias:
        layers[-1]["b"] = jnp.zeros_like(layers[-1]["b"])
    return layers


def mlp(params: list[LayerParams], x: Array, xp: Any = jnp) -> Array:
    """Apply a perceptron with ReLU between its layers: (B, i) -> (B, o), or (twins, B, o)."""
    for layer in params[:-1]:
        x = xp.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ params[-1]["w"] + params[-1]["b"]


def first_outputs(params: Tree, n: int) -> Tree:
    """The parameters of a network without its outputs from the n-th on."""
    if isinstance(params, dict):  # behind convolutions
        return {**params, "head": first_outputs(params["head"], n)}
    *hidden, last = params
    return [*hidden, {name: array[..., :n] for name, array in last.items()}]


def one_hot(action: Array, n_actions: int, xp: Any = jnp) -> Array:
    """Encode actions as rows of the identity; the null action -1 is a row of zeros."""
    return (action[..., None] == xp.arange(n_actions)).astype(np.float32)


def log_softmax(logits: Array, xp: Any = jnp) -> Array:
    """Log-probabilities from logits; the result is finite for every finite input."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))
