"""The sequential test, against its error rate in simulations."""

from collections.abc import Callable

import numpy as np
import pytest

from policy_inertia.metrics.betting import mean_above_zero

Draw = Callable[[np.random.Generator, int], np.ndarray]

AT_ZERO: dict[str, Draw] = {  # values from -1 to 1 with a mean of exactly 0: the hardest to call
    "a coin": lambda rng, n: rng.choice([-1.0, 1.0], n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "a rare disaster": lambda rng, n: np.where(rng.random(n) < 0.01, -1.0, 0.01 / 0.99),
    "a rare success": lambda rng, n: np.where(rng.random(n) < 0.01, 1.0, -0.01 / 0.99),
    "small": lambda rng, n: rng.uniform(-0.05, 0.05, n),
}


@pytest.mark.parametrize("name", list(AT_ZERO))
@pytest.mark.parametrize("error", [0.2, 0.05])
def test_error_rate_is_kept_however_long_one_looks(name: str, error: float) -> None:
    rng = np.random.default_rng(0)
    runs, steps = 500, 600
    results = [
        mean_above_zero(AT_ZERO[name](rng, steps).tolist(), 1.0, error).above for _ in range(runs)
    ]
    slack = 3 * np.sqrt(error * (1 - error) / runs)
    for wrong in (True, False):
        assert np.mean([result is wrong for result in results]) <= error + slack


def test_errors_do_occur_so_the_rate_is_not_kept_by_silence() -> None:
    rng = np.random.default_rng(1)
    draw = AT_ZERO["a coin"]
    wrong = [mean_above_zero(draw(rng, 600).tolist(), 1.0, 0.2).above for _ in range(300)]
    assert np.mean([result is True for result in wrong]) > 0.02


@pytest.mark.parametrize(("mean", "above"), [(0.05, True), (-0.05, False)])
def test_mean_that_is_not_zero_is_shown_before_the_values_end(mean: float, above: bool) -> None:
    rng = np.random.default_rng(2)
    results = [
        mean_above_zero((mean + rng.uniform(-0.2, 0.2, 1000)).tolist(), 1.0, 0.05)
        for _ in range(50)
    ]
    assert all(result.above is above for result in results)
    assert np.mean([result.n for result in results]) < 200


def test_no_value_is_drawn_after_the_decision() -> None:
    drawn = []

    def values() -> object:
        for i in range(1000):
            drawn.append(i)
            yield 0.5

    result = mean_above_zero(values(), 1.0, 0.05)  # type: ignore[arg-type]
    assert result.above is True
    assert len(drawn) == result.n < 30
    assert mean_above_zero([], 1.0, 0.05).above is None
    assert mean_above_zero([0.0] * 5, 0.0, 0.05).above is None
