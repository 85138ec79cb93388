"""An algorithm's state on the device, and the parameters for acting on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from policy_inertia.algorithms.interface import Algorithm
from policy_inertia.types import Array, Transition, Tree

Unpack = Callable[[Array], Transition]


class Learner:
    """Runs updates in compiled code and brings the policy's parameters to the host."""

    def __init__(self, algorithm: Algorithm, unpack: Unpack, rng: np.random.Generator) -> None:
        self.algorithm = algorithm
        self.state = algorithm.init(rng)
        self._run = _compiled_updates(algorithm, unpack)
        shapes = jax.eval_shape(algorithm.acting, self.state)
        leaves, structure = jax.tree.flatten(shapes)
        self._flat = np.zeros(sum(leaf.size for leaf in leaves), np.float32)
        ends = np.cumsum([leaf.size for leaf in leaves])
        # views into one vector, so that one copy brings the whole policy to the host
        views = [
            self._flat[end - leaf.size : end].reshape(leaf.shape)
            for leaf, end in zip(leaves, ends, strict=True)
        ]
        self.acting: Tree = jax.tree.unflatten(structure, views)
        self.fetch()

    def fetch(self) -> None:
        """Copy the policy's parameters from the state to the host."""
        leaves = jax.tree.leaves(self.algorithm.acting(self.state))
        np.concatenate([np.asarray(leaf).ravel() for leaf in leaves], out=self._flat)

    def update(self, words: np.ndarray, due: np.ndarray, n: int) -> dict[str, Any]:
        """Run the first `n` of the minibatches in `words`; return the losses of the last."""
        self.state, flat, losses = self._run(self.state, words, due, n)
        np.copyto(self._flat, flat)
        return losses

    def finish(self, drawn: np.ndarray) -> None:
        """Learn from the numbers of an episode that has ended; see `Behaviour.finish`."""
        state = self.algorithm.behaviour.finish(self.state, drawn)
        if state is not self.state:
            self.state = state
            self.fetch()

    def snapshot(self) -> Tree:
        """A copy of the policy's parameters."""
        if self.algorithm.policy is None:
            return jax.tree.map(np.copy, self.acting)
        return jax.tree.map(np.array, self.algorithm.policy(self.state))


def _flat(tree: Tree) -> Any:
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])


def _compiled_updates(algorithm: Algorithm, unpack: Unpack) -> Callable[..., Any]:
    """One program for any number of updates: the loop's length is an argument, not a shape."""

    def run(state: Tree, words: Any, due: Any, n: Any) -> tuple[Tree, Any, dict[str, Any]]:
        def body(i: Any, carry: tuple[Tree, Any]) -> tuple[Tree, Any]:
            updated = algorithm.update(carry[0], unpack(words[i]), due[i])
            return updated.state, updated.losses

        _, shapes = jax.eval_shape(lambda s: body(0, (s, None)), state)
        no_losses = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
        state, losses = lax.fori_loop(0, n, body, (state, no_losses))
        return state, _flat(algorithm.acting(state)), losses

    return jax.jit(run, donate_argnums=0)
