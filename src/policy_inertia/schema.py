"""Compare what was read from JSON or TOML with declared types.

Every such file is read in two steps: a parser of the standard library, then `read_as` with a
dataclass that declares the keys and their types. So a damaged file ends in one sentence, whatever
the damage is.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from policy_inertia.errors import InputError, TrustError, nearest, shown

T = TypeVar("T")

DEEPEST = 32
"""Lists and tables inside each other in a file."""
LARGEST = 2**63
"""Whole numbers lie below it, so that they fit into arrays."""

NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a table",
    list: "a list",
    tuple: "a list",
    type(None): "null",
}


def parse(data: bytes, parser: Callable[[str], Any], where: object, kind: str) -> Any:
    """Parse the bytes of a JSON or TOML file.

    Args:
        data: The bytes.
        parser: `json.loads` or `tomllib.loads`.
        where: The file, for error messages.
        kind: What the file holds, for error messages.

    Raises:
        InputError: It is no UTF-8, cannot be parsed, or is nested too deeply.
    """
    try:
        value = parser(data.decode())
    except (ValueError, RecursionError) as error:  # every error of both parsers is a ValueError
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{where} cannot be read as {kind} ({reason})") from error
    if _depth(value) > DEEPEST:
        raise InputError(
            f"{where} cannot be read as {kind} (nested more than {DEEPEST} times): "
            "expected a file that policy-inertia wrote"
        )
    return value


def parse_object(data: bytes, where: object, kind: str) -> dict[str, Any]:
    """Parse the bytes of a JSON file that holds one object."""
    value = parse(data, json.loads, where, kind)
    if not isinstance(value, dict):
        raise InputError(f"{where} holds {shown(value)}: expected {kind}, which is a JSON object")
    return value


def read_as(kind: type[T], value: Any, where: object = "", **converted: Any) -> T:
    """Convert a parsed value to a type.

    Args:
        kind: A dataclass, or any annotation of a field: numbers, texts, lists, tables, unions.
        value: The value.
        where: The file, for error messages.
        converted: Fields of the dataclass that the caller has converted already.

    Raises:
        InputError: A key is missing or unknown, or a value has the wrong type.
    """
    with in_file(where):
        if not converted:
            return _convert(kind, value, "")
        return _dataclass(kind, {**_table(value, ""), **converted}, "", converted)


def read_into(template: T, values: Mapping[str, Any], where: object = "") -> T:
    """Change some fields of a dataclass, and of the dataclasses in it.

    Args:
        template: The dataclass; fields without a value keep theirs.
        values: The new values, as read from JSON or TOML.
        where: The file, for error messages.

    Raises:
        InputError: A field does not exist, or a value has the wrong type.
    """
    with in_file(where):
        return _changed(template, values, "")


@contextmanager
def in_file(where: object) -> Iterator[None]:
    """Begin error messages with the name of the file, if there is one."""
    try:
        yield
    except TrustError:
        raise  # it names the file, and says what to do
    except InputError as error:
        if where:
            raise InputError(f"{where} cannot be used: {error}") from error
        raise


def _convert(kind: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _union(arguments, value, name)
    if origin is Literal:
        return value if value in arguments else _refuse(name, value, _expected(kind))
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, _table(value, name), name)
    plain = origin or kind
    if plain is dict:
        inner = arguments[1] if arguments else Any
        return {k: _convert(inner, v, _joined(name, k)) for k, v in _table(value, name).items()}
    if plain in (list, tuple):
        return _items(plain, arguments, value, name)
    if plain is float and _is_number(value) and _is_finite(value):
        return value  # a whole number stays one, so that it is written as it was read
    if plain is int and _is_number(value) and _is_finite(value) and value == int(value):
        return int(value) if abs(value) < LARGEST else _refuse(name, value, f"below {LARGEST:g}")
    if plain not in (int, float) and isinstance(value, plain):
        return value
    return _refuse(name, value, _expected(kind))


def _union(kinds: Sequence[Any], value: Any, name: str) -> Any:
    """Convert to the first kind that takes the value."""
    reason: InputError | None = None
    for kind in kinds:
        try:
            return _convert(kind, value, name)
        except InputError as error:
            if isinstance(value, dict | list) and not _is_plain(kind):
                reason = error  # tells more than the list of all kinds
    if reason is not None:
        raise reason
    return _refuse(name, value, _any_of(kinds))


def _dataclass(
    kind: Any, values: Mapping[str, Any], name: str, converted: Mapping[str, Any] | None = None
) -> Any:
    converted = converted or {}
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    _refuse_unknown(values, fields, kind, name)
    hints = _hints(kind)
    arguments = {}
    for key, field in fields.items():
        if key in converted:
            arguments[key] = converted[key]
        elif key in values:
            arguments[key] = _convert(hints[key], values[key], _joined(name, key))
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise InputError(f"{_joined(name, key)} is missing: it must be {_expected(hints[key])}")
    return kind(**arguments)


def _changed(template: T, values: Any, name: str) -> T:
    kind: Any = type(template)
    fields = {f.name: getattr(template, f.name) for f in dataclasses.fields(kind)}
    values = _table(values, name)
    _refuse_unknown(values, fields, kind, name)
    hints = _hints(kind)
    changes = {}
    for key, value in values.items():
        old, at = fields[key], _joined(name, key)
        if not dataclasses.is_dataclass(old):
            changes[key] = _convert(hints[key], value, at)
        elif isinstance(value, type(old)):
            changes[key] = value
        else:
            changes[key] = _changed(old, value, at)
    return dataclasses.replace(template, **changes)  # type: ignore[type-var]


def _items(plain: type, arguments: tuple[Any, ...], value: Any, name: str) -> Any:
    if not isinstance(value, list | tuple):
        return _refuse(name, value, _expected(plain[arguments] if arguments else plain))  # type: ignore[index]
    if plain is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return _refuse(name, value, f"a list of {len(arguments)}")
        inner: Sequence[Any] = arguments
    else:
        inner = [arguments[0] if arguments else Any] * len(value)
    return plain(
        _convert(kind, item, f"{name}[{i}]")
        for i, (kind, item) in enumerate(zip(inner, value, strict=True))
    )


def _table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        _refuse(name, value, "a table")
    return dict(value)


def _refuse_unknown(
    values: Mapping[str, Any], known: Mapping[str, Any], kind: Any, name: str
) -> None:
    for key in values:
        if key not in known:
            place = f" in {name}" if name else ""
            raise InputError(
                f"'{key[:60]}' is no setting of {kind.__name__}{place}{nearest(key, known)}"
            )


def _refuse(name: str, value: Any, expected: str) -> Any:
    start = f"{name} is {shown(value)}" if name else f"it holds {shown(value)}"
    raise InputError(f"{start}: it must be {expected}")


def _expected(kind: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _any_of(arguments)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin in (list, tuple) and arguments and _is_plain(arguments[0]):
        return f"a list, of which each is {NAMES[arguments[0]]}"
    return NAMES.get(origin or kind, "a table" if dataclasses.is_dataclass(kind) else "an array")


def _any_of(kinds: Sequence[Any]) -> str:
    named = [_expected(kind) for kind in kinds if kind is not type(None)]
    return " or ".join(named) + (", or null" if type(None) in kinds else "")


def _is_plain(kind: Any) -> bool:
    return kind in (bool, int, float, str, type(None))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    """Whether a number fits into a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _joined(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _depth(value: Any) -> int:
    """Count the lists and tables inside each other, without recursion."""
    depth, level = 0, [value]
    while level := [part for part in level if isinstance(part, dict | list)]:
        depth += 1
        level = [
            item for part in level for item in (part.values() if isinstance(part, dict) else part)
        ]
    return depth


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
