"""Minibatches and updates of controllers around three heads, for tests by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from policy_inertia.algorithms.interface import Algorithm
from policy_inertia.algorithms.nested import NestedConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.policies.core_outputs import acting_of, allowed_actions
from tests.algorithms.test_branching_dqn import HEADS, SPEC, minibatch
from tests.algorithms.test_nested import DUE

MASKED = Spec(3 + 2 * HEADS.width, HEADS, core_outputs=2 * HEADS.width, masked=True)
"""A frozen core with action masks."""


def forward(layers: Any, x: Any) -> np.ndarray:
    x = np.array(x, float)
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
    return (x @ layers[-1][0] + layers[-1][1]).ravel()


def masked_minibatch(n: int) -> Any:
    """Transitions with a frozen core's outputs behind the observations, and a mask in them."""
    batch, rng = minibatch(n), np.random.default_rng(5)
    rows = []
    for obs in (batch.obs, batch.next_obs):
        masks = rng.random((n, HEADS.width)) < 0.6
        allowed = allowed_actions(masks, n, True, HEADS, "the core")
        core = acting_of(rng.normal(size=masks.shape), "logits", 1.0, HEADS, allowed)
        parts = (obs, core.policy.log_pi, core.scores)
        rows.append(np.concatenate(parts, axis=1, dtype=np.float32))
    return batch._replace(obs=rows[0], next_obs=rows[1])


class Prepared(NamedTuple):
    """A controller before its first update, and what an update needs."""

    state: Any
    update: Callable[..., Any]
    core: Algorithm
    improve: Callable[..., Any]
    """The update of the core."""
    batch: Any
    due: np.ndarray


def prepared(config: NestedConfig, masked: bool) -> Prepared:
    """Build a controller for 16 transitions.

    Args:
        config: Its settings.
        masked: Whether its core is a frozen one with action masks.
    """
    spec = MASKED if masked else SPEC
    algorithm, core = config.build(spec), config.core.build(spec)
    state = algorithm.init(np.random.default_rng(1))
    update, improve = jax.jit(algorithm.update), jax.jit(core.update)
    batch: Any = masked_minibatch(16) if masked else minibatch(16)
    return Prepared(state, update, core, improve, batch, DUE[int(masked) :])
