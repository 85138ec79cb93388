from fractions import Fraction
from itertools import product

import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import TokenBucket
from policy_inertia.tabular.exact_bucket import NO_LIMIT

LIMITS = [
    ("0", "1"),
    ("0", "3"),
    ("1/10", "2"),
    ("1/3", "1"),
    ("2/5", "2"),
    ("2/3", "3/2"),
    ("1", "1"),
]


def allowed(rate: str, burst: str, steps: int) -> list[tuple[bool, ...]]:
    """Every sequence of switches that the limit allows from a full bucket on, in plain loops."""
    sequences = []
    for sequence in product((False, True), repeat=steps):
        tokens = Fraction(burst)
        for switch in sequence:
            if switch and tokens < 1:
                break
            tokens = min(Fraction(burst), tokens - switch + Fraction(rate))
        else:
            sequences.append(sequence)
    return sequences


@pytest.mark.parametrize(
    ("rate", "burst", "levels"),
    [
        ("0", "2", 3),  # a count for each episode: 0, 1, 2
        ("1/10", "2", 20),  # every tenth from 0.1 to 2
        ("1/2", "1", 2),
        ("2/5", "1", 3),  # 0.4, 0.8, 1
        ("2/5", "2", 9),  # every fifth from 0.4 to 2
        ("2/3", "3/2", 3),  # 5/6, 7/6, 3/2
        ("1", "1", 1),  # always full
    ],
)
def test_a_bucket_has_this_many_levels(rate: str, burst: str, levels: int) -> None:
    bucket = TokenBucket(rate, burst)
    assert len(bucket.levels) == levels
    assert bucket.levels[-1] == bucket.cost * bucket.burst
    units = int(bucket.rate * bucket.cost)
    if units:
        assert bucket.levels[0] >= min(units, bucket.levels[-1])
        assert levels <= bucket.burst * bucket.cost - units + 1


@pytest.mark.parametrize(("rate", "burst"), LIMITS)
def test_the_levels_follow_the_tokens(rate: str, burst: str) -> None:
    bucket = TokenBucket(rate, burst)
    for sequence in allowed(rate, burst, 8):
        tokens, level = Fraction(burst), len(bucket.levels) - 1
        for switch in sequence:
            assert Fraction(bucket.levels[level], bucket.cost) == tokens
            assert bucket.can_switch[level] == (tokens >= 1)
            tokens = min(Fraction(burst), tokens - switch + Fraction(rate))
            level = (bucket.after_switch if switch else bucket.after_repeat)[level]


@pytest.mark.parametrize(("rate", "burst"), LIMITS)
def test_no_stretch_has_more_switches_than_the_bound_and_some_stretch_has_as_many(
    rate: str, burst: str
) -> None:
    bucket = TokenBucket(rate, burst)
    sequences = allowed(rate, burst, 9)
    for steps in range(1, 10):
        windows = [s[i : i + steps] for s in sequences for i in range(9 - steps + 1)]
        most = max(map(sum, windows))
        assert most == bucket.most_switches(steps)
        assert most <= bucket.burst + bucket.rate * steps
    assert bucket.most_switches(0) == 0


def test_a_float_is_read_as_it_is_printed() -> None:
    assert TokenBucket(0.1, 2) == TokenBucket("1/10", Fraction(2))
    assert TokenBucket(0.1, 2).rate == Fraction(1, 10)
    assert len(NO_LIMIT.levels) == 1
    assert NO_LIMIT.can_switch.all()


@pytest.mark.parametrize(
    ("rate", "burst", "message"),
    [
        (-0.1, 2, r"rate is -0.1: it must lie in \[0, 1\]"),
        (1.5, 2, r"rate is 1.5: it must lie in \[0, 1\]"),
        (float("nan"), 2, "rate is nan: give a number or a fraction"),
        ("1/0", 2, "rate is 1/0: give a number or a fraction"),
        (0.1, 0.5, "burst is 0.5: it must be at least 1, the cost of a switch"),
        (0.1, float("inf"), "burst is inf: give a number or a fraction"),
        (1 / 3, 2, "need more than 10000 levels of tokens: give fractions"),
    ],
)
def test_a_limit_out_of_range_is_refused(
    rate: float | str, burst: float | str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        TokenBucket(rate, burst)
