"""How flags read numbers: a wrong one is refused in one sentence, also where None is allowed."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any

from tyro.conf import DisallowNone
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

KINDS: dict[Any, tuple[str, str]] = {
    float: ("FLOAT", "a number, such as 0.1"),
    int: ("INT", "a whole number, such as 10"),
}
NUMBERS = ConstructorRegistry()
"""Rules for numbers; tyro's own rules read everything else."""


@NUMBERS.primitive_rule
def _number(flag: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """A number, or a number or None."""
    kinds: list[Any] = [flag.type]
    if typing.get_origin(flag.type) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(flag.type) if kind is not type(None)]
    if len(kinds) != 1 or kinds[0] not in KINDS:
        return None
    kind, optional = kinds[0], kinds[0] is not flag.type
    metavar, expected = KINDS[kind]
    if optional and DisallowNone not in flag.markers:
        metavar, expected = f"{{None}}|{metavar}", f"{expected}, or None"
        read = _reader(lambda word: None if word == "None" else kind(word), expected)
    else:
        read = _reader(kind, expected)
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda value: (optional and value is None) or _is_number(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


@NUMBERS.primitive_rule
def _numbers(flag: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Any number of numbers."""
    args = typing.get_args(flag.type)
    if typing.get_origin(flag.type) is not tuple or args[1:] != (...,) or args[0] not in KINDS:
        return None
    kind: Any = args[0]
    metavar, expected = KINDS[kind]
    read = _reader(kind, expected)
    return PrimitiveConstructorSpec(
        nargs="*",
        metavar=f"[{metavar} [{metavar} ...]]",
        instance_from_str=lambda words: tuple(read(word) for word in words),
        is_instance=lambda values: (
            isinstance(values, tuple) and all(_is_number(value, kind) for value in values)
        ),
        str_from_instance=lambda values: [str(value) for value in values],
    )


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, (int, kind)) and not isinstance(value, bool)


def _reader(convert: Callable[[str], Any], expected: str) -> Callable[[str], Any]:
    def read(word: str) -> Any:
        try:
            return convert(word)
        except ValueError:
            raise ValueError(f"'{word}' was given: give {expected}") from None

    return read
