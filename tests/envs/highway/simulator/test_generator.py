"""Our generator draws what NumPy's draws from the same seed."""

import numpy as np
import pytest

from policy_inertia.envs.highway.simulator import generator


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_the_draws_are_numpys(seed: int) -> None:
    ours, theirs = generator.from_seed(seed), np.random.default_rng(seed)
    for _ in range(2000):  # enough for the rare branches of the normal
        assert generator.normal(ours) == theirs.normal()
        assert generator.uniform(ours, -5.0, 3.0) == theirs.uniform(-5.0, 3.0)
        assert generator.integers(ours, 3) == theirs.integers(3)
        assert generator.integers(ours, 1) == theirs.integers(1)
        expected = theirs.choice(range(4), size=2, replace=False)
        assert generator.two_of_four(ours) == tuple(expected)
    bits = theirs.bit_generator
    assert isinstance(bits, np.random.PCG64)
    assert (ours == generator.from_numpy(bits)).all()
    assert generator.to_numpy(ours).normal() == theirs.normal()
