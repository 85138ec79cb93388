from types import SimpleNamespace

import pytest

from policy_inertia.errors import (
    LONGEST,
    InputError,
    nearest,
    refuse_huber,
    refuse_outside,
    shown,
    visible,
)


def test_an_unknown_name_is_answered_with_the_nearest_or_all() -> None:
    assert nearest("dqm", ["sac", "dqn"]) == ": did you mean 'dqn'?"
    assert nearest("x", ["sac", "dqn"]) == ": choose one of dqn, sac"
    assert nearest("x", [f"name-{i}" for i in range(13)]) == ""


@pytest.mark.parametrize(
    ("value", "high", "message"),
    [
        (-1, None, "size is -1: it must be at least 0"),
        (2, 1, "size is 2: it must be from 0 to 1"),
        (float("nan"), None, "size is nan: it must be at least 0"),
        ((0.5, 2), 1, r"size is \(0.5, 2\): it must be from 0 to 1"),
    ],
)
def test_a_setting_out_of_range_is_refused(value: object, high: float | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        refuse_outside(SimpleNamespace(size=value), 0, high, "size")


def test_the_limits_of_a_range_are_allowed() -> None:
    refuse_outside(SimpleNamespace(size=(0, 1), rate=0.5), 0, 1, "size", "rate")


def test_a_huber_threshold_of_0_is_refused() -> None:
    refuse_huber(None)
    refuse_huber(0.1)
    with pytest.raises(InputError, match="huber is 0: give a threshold above 0"):
        refuse_huber(0)


def test_a_message_is_one_line_of_bounded_length() -> None:
    assert str(InputError("a  b\n c")) == "a  b c"
    assert len(str(InputError("x" * 10_000))) == LONGEST + 3


def test_any_value_can_be_shown() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert shown([10**5_000]) == "a very large list"
    assert len(shown("x" * 10_000)) == 80
    assert nearest(10**5_000, ["dqn"]) == ": choose one of dqn"


def test_what_cannot_be_seen_is_shown_as_codes() -> None:
    assert visible("a\x1b[2J\r\u202e\udcff") == r"a\x1b[2J\r\u202e\udcff"
    for text in ("return 17.2 ± 0.5", "naïve\tλ\n次", "π → 👩\u200d🔬"):
        assert visible(text) == text
