"""The schema: parsed values are converted to declared types, or refused in one sentence."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from policy_inertia.errors import InputError
from policy_inertia.schema import parse, parse_object, read_as, read_into


@dataclass(frozen=True)
class Wheel:
    radius: float
    spokes: int = 36


@dataclass(frozen=True)
class Bike:
    name: str
    wheels: tuple[Wheel, ...]
    gears: int | list[int] = 1
    kind: Literal["road", "city"] = "road"
    lamp: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    electric: bool = False
    position: tuple[float, float] = (0.0, 0.0)


GIVEN = {"name": "b", "wheels": [{"radius": 0.3}, {"radius": 1, "spokes": 28.0}]}


def test_values_become_dataclasses_of_the_declared_types() -> None:
    bike = read_as(Bike, {**GIVEN, "gears": [1, 2], "lamp": None, "extra": {"x": [1]}})
    assert bike == Bike("b", (Wheel(0.3), Wheel(1, 28)), [1, 2], extra={"x": [1]})
    assert isinstance(bike.wheels[1].spokes, int)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 5}, "name is 5: it must be a text"),
        ({"wheels": 5}, "wheels is 5: it must be a list"),
        ({"wheels": {"radius": 1}}, "wheels is {'radius': 1}: it must be a list"),
        ({"wheels": [{}]}, "wheels[0].radius is missing: it must be a number"),
        ({"wheels": [{"radius": True}]}, "wheels[0].radius is True: it must be a number"),
        ({"wheels": [{"radius": float("nan")}]}, "wheels[0].radius is nan: it must be a number"),
        (
            {"wheels": [{"radius": 10**400}]},
            "wheels[0].radius is 1000000000",
        ),
        ({"wheels": [{"radius": 1, "spoke": 2}]}, "'spoke' is no setting of Wheel in wheels[0]"),
        ({"gears": 1.5}, "gears is 1.5: it must be a whole number or a list"),
        ({"gears": [1, "x"]}, "gears[1] is 'x': it must be a whole number"),
        ({"gears": 2**63}, "gears is 9223372036854775808: it must be"),
        ({"kind": "sand"}, "kind is 'sand': it must be 'road' or 'city'"),
        ({"kind": []}, "kind is []: it must be 'road' or 'city'"),
        ({"lamp": "on"}, "lamp is 'on': it must be a number, or null"),
        ({"extra": []}, "extra is []: it must be a table"),
        ({"electric": 1}, "electric is 1: it must be true or false"),
        ({"position": [1]}, "position is [1]: it must be a list of 2"),
        ({"colour": "red"}, "'colour' is no setting of Bike"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_as(Bike, {**GIVEN, **change}, "bike.json")
    assert str(error.value).startswith(f"bike.json cannot be used: {message}")


def test_a_missing_key_and_a_value_that_is_no_table_are_refused() -> None:
    with pytest.raises(InputError, match=r"^name is missing: it must be a text$"):
        read_as(Bike, {"wheels": []})
    with pytest.raises(InputError, match=r"^it holds \[\]: it must be a table$"):
        read_as(Bike, [])


def test_fields_that_the_caller_converted_are_taken_as_they_are() -> None:
    wheels = (Wheel(2.0),)
    assert read_as(Bike, {"name": "b", "wheels": "anything"}, wheels=wheels).wheels is wheels


def test_changes_are_read_into_a_template_and_the_dataclasses_in_it() -> None:
    @dataclass(frozen=True)
    class Shop:
        best: Wheel = Wheel(0.3)
        size: int = 3

    assert read_into(Shop(), {"best": {"spokes": 20}}) == Shop(Wheel(0.3, 20))
    assert read_into(Shop(), {"best": Wheel(0.5)}) == Shop(Wheel(0.5))
    with pytest.raises(InputError, match=r"best\.spokes is 'x': it must be a whole number"):
        read_into(Shop(), {"best": {"spokes": "x"}})
    with pytest.raises(InputError, match="best is 5: it must be a table"):
        read_into(Shop(), {"best": 5})


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000, b"1" * 5_000])
def test_text_that_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(InputError, match=r"^f cannot be read as a thing \("):
        parse(text, json.loads, "f", "a thing")


def test_deep_nesting_is_refused_before_anything_is_converted() -> None:
    assert parse(b"[" * 32 + b"]" * 32, json.loads, "f", "a thing")
    with pytest.raises(InputError, match="nested more than 32 times"):
        parse(b"[" * 33 + b"]" * 33, json.loads, "f", "a thing")
    with pytest.raises(InputError, match="nested too deeply"):
        parse(b"a = " + b"[" * 5_000, tomllib.loads, "f", "a thing")


def test_a_file_must_hold_an_object() -> None:
    assert parse_object(b'{"a": 1}', "f", "a thing") == {"a": 1}
    with pytest.raises(InputError, match=r"^f holds \[1\]: expected a thing, which is a JSON obj"):
        parse_object(b"[1]", "f", "a thing")
