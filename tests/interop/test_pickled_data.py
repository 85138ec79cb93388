"""Pickles as data: nothing is imported or called, and memory follows the size of the pickle."""

import collections
import os
import pickle
from typing import Any

import numpy as np
import pytest

from policy_inertia.interop import pickled_data
from policy_inertia.interop.pickled_data import Call, Name, pickled_array, read_pickle

PLAIN = [
    None,
    True,
    False,
    3,
    -(2**40),
    10**30,
    2.5,
    "text",
    b"bytes",
    bytearray(b"more"),
    [1, [2, 3], ()],
    {"a": {"b": (1, 2, 3, 4)}, 3: [], None: 1},
    (1,),
    (1, 2),
]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", PLAIN, ids=str)
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    if protocol < 3 and isinstance(value, bytes | bytearray):
        return  # a call in these protocols
    if protocol < 5 and isinstance(value, bytearray):
        return
    assert read_pickle(pickle.dumps(value, protocol)) == value


def test_sets_are_read_as_lists() -> None:
    assert read_pickle(pickle.dumps({"x"})) == ["x"]
    assert read_pickle(pickle.dumps(frozenset({"x"}))) == ["x"]


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=">f4"),
        np.array(3.5),
        np.float32(2.5),
        np.arange(3, dtype=np.uint8),
        np.zeros((0, 3)),
        2.5,
        3,
    ],
    ids=str,
)
@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_arrays_come_back(value: Any, protocol: int) -> None:
    array = pickled_array(read_pickle(pickle.dumps(value, protocol)))
    np.testing.assert_array_equal(array, value)
    assert array.shape == np.shape(value)


def test_names_are_not_imported_and_calls_are_not_made() -> None:
    pickled = b"cmissing_module\nrun\n(S'x'\ntR."
    call = read_pickle(pickled)
    assert isinstance(call, Call)
    assert (call.function, call.args) == (Name("missing_module", "run"), ("x",))
    call = read_pickle(pickle.dumps(collections.OrderedDict(a=1)))
    assert call.items == {"a": 1}
    call = read_pickle(pickle.dumps(os.system))
    assert call == Name("posix", "system")


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (b"", "exhausted|empty|end"),
        (b"N", "exhausted before seeing STOP"),
        (b".", "empty list"),
        (b"R.", "a value is missing"),
        (b"Nb.", "list index|no state|has none"),
        (b"NNb.", "a state of something that has none"),
        (b"NNa.", "items of something that has none"),
        (b"NNNs.", "items of something that has none"),
        (b"t.", "a mark is missing"),
        (b"NNt.", "a mark is missing"),
        (b"(d(d)s.", "mark|keys|missing"),
        (b"}(K\x01K\x02K\x03u.", "shorter|longer"),
        (b"}]Ns.", "other keys than texts and numbers"),
        (b"h\x05.", "5"),
        (b"\x82\x01.", "the opcode EXT1"),
        (b"(cos\nsystem\no.", "the opcode OBJ"),
        (b"(ios\nsystem\n.", "the opcode INST"),
        (b"\x97.", "the opcode NEXT_BUFFER"),
        (b"K\x01K\x02\x93.", "a name that is no text"),
        (b"B\xff\xff\xff\xffabc.", "expected .* bytes"),
        (b"\x96\xff\xff\xff\xff\xff\xff\xff\x7fabc.", "expected .* bytes"),
        (b"X\x02\x00\x00\x00\xff\xfe.", "utf-8"),
        (b"I" + b"9" * 10_000 + b"\n.", "limit"),
    ],
    ids=str,
)
def test_damaged_pickles_are_refused(pickled: bytes, message: str) -> None:
    with pytest.raises((ValueError, IndexError, KeyError, TypeError), match=message):
        read_pickle(pickled)


def test_deep_nesting_and_large_numbers_of_the_memo_cost_nothing() -> None:
    depth = 90_000
    value = read_pickle(b"N" + b"\x85" * depth + b".")
    for _ in range(depth):
        (value,) = value
    assert value is None
    assert read_pickle(b"Nr\xff\xff\xff\x7fj\xff\xff\xff\x7f.") is None
    doubled = b"]" + b"\x94h\x00" + b"".join(b"\x86q%ch%c" % (i, i) for i in range(1, 200)) + b"."
    read_pickle(doubled)  # a list of 2**200 items, had anybody written it out


def test_deep_tuples_are_not_hashed() -> None:
    with pytest.raises(ValueError, match="other keys than texts and numbers"):
        read_pickle(b"}N" + b"\x85" * 90_000 + b"Ns.")
    assert len(read_pickle(b"(N" + b"\x85" * 90_000 + b"\x91.")) == 1  # a frozenset


def test_long_pickles_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickled_data, "OPERATIONS", 10)
    assert read_pickle(b"N" * 10 + b".") is None
    with pytest.raises(ValueError, match="more than 10 operations"):
        read_pickle(b"N" * 11 + b".")


@pytest.mark.parametrize("value", [None, "x", [1], np.array(["x"]), np.array([{}]), 1j], ids=str)
def test_other_things_than_arrays_are_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"numbers|unknown type|without|expected"):
        pickled_array(read_pickle(pickle.dumps(value)))
