from __future__ import annotations

import numpy as np
import pytest

from policy_inertia.algorithms.learning import LARGE, adam


@pytest.mark.parametrize("size", [3, LARGE])
def test_adam_is_adam_in_one_vector_and_leaf_by_leaf(size: int) -> None:
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(size, 1)), "b": rng.normal(size=2)}
    optimiser = adam(0.1)
    state = optimiser.init(params)
    m, v = ({k: np.zeros_like(p) for k, p in params.items()} for _ in range(2))
    for t in (1, 2, 3):
        gradient = {k: rng.normal(size=p.shape) for k, p in params.items()}
        updates, state = optimiser.update(gradient, state)
        for k, g in gradient.items():
            # Kingma & Ba (2015), Algorithm 1
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.999 * v[k] + 0.001 * g**2
            step = -0.1 * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)
            np.testing.assert_allclose(updates[k], step, rtol=1e-3, atol=1e-6)


def test_only_small_networks_are_joined_into_one_vector() -> None:
    small, large = ({"w": np.zeros(n, np.float32), "b": np.zeros(2)} for n in (3, LARGE))
    assert adam(0.1).init(small)[0].mu.shape == (5,)
    assert adam(0.1).init(large)[0].mu["w"].shape == (LARGE,)
