import numpy as np
import pytest

from policy_inertia.metrics.estimates import t_interval, upper_bound

FOUR = [1.0, 2.0, 3.0, 4.0]  # mean 2.5, standard error sqrt(5/3) / 2 = 0.6455


def test_interval_and_bound_are_students() -> None:
    assert t_interval(FOUR) == pytest.approx((2.5 - 3.1824 * 0.6455, 2.5 + 3.1824 * 0.6455), 1e-4)
    assert upper_bound(FOUR) == pytest.approx(2.5 + 2.3534 * 0.6455, 1e-4)


def test_single_value_has_no_interval_and_bounds_itself() -> None:
    assert t_interval([3.0]) is None
    assert upper_bound([3.0]) == 3


def test_values_without_spread_are_their_own_interval() -> None:
    assert t_interval(np.full(9, 0.5)) == (0.5, 0.5)
    assert upper_bound(np.zeros(9)) == 0
