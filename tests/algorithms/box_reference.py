"""SAC's parts for Box actions in NumPy, in float64: what updates are compared with."""

from typing import Any

import jax
import numpy as np
from scipy import stats

from policy_inertia.actions.box import Box
from policy_inertia.envs.spec import Spec
from policy_inertia.types import Transition

SPEC = Spec(3, Box((-1.0, -1.0), (1.0, 1.0), (2,)))
N = 5
DUE = np.ones(1, bool)


def batch() -> Transition:
    rng = np.random.default_rng(0)
    obs, next_obs = rng.normal(size=(2, N, 3)).astype(np.float32)
    action, before = rng.uniform(-1, 1, (2, N, 2)).astype(np.float32)
    reward, discount = rng.normal(size=(2, N)).astype(np.float32)
    return Transition(obs, before, action, reward, np.abs(discount), next_obs)


def network(layers: Any, x: np.ndarray, twin: int | None = None) -> np.ndarray:
    """A perceptron with ReLU, in float64."""
    pick = (lambda a: a) if twin is None else (lambda a: a[twin])
    for i, layer in enumerate(layers):
        x = x @ pick(np.asarray(layer["w"], float)) + pick(np.asarray(layer["b"], float))
        x = np.maximum(x, 0) if i + 1 < len(layers) else x
    return x


def twins(critics: Any, obs: Any, action: Any) -> np.ndarray:
    x = np.concatenate([obs, action], 1).astype(float)
    return np.stack([network(critics, x, twin)[:, 0] for twin in (0, 1)])


def gaussian(
    actor: Any, obs: Any, noise: np.ndarray, total: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Actions, and their log-density: of the whole action, or of each number."""
    x = network(actor, np.asarray(obs, float))
    mean, std = x[:, :2], np.exp(np.clip(x[:, 2:], -20, 2))
    u = mean + std * noise
    log_pi = stats.norm.logpdf(u, mean, std) - np.log(1 - np.tanh(u) ** 2)
    return np.tanh(u), log_pi.sum(1) if total else log_pi


def drawn(key: Any, n: int) -> np.ndarray:
    return np.asarray(jax.random.normal(jax.random.split(key)[1], (n, N, 2)), float)
