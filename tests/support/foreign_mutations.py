"""Damaged zips, pickles and ONNX models, below the level of their bytes."""

from __future__ import annotations

import io
import pickletools
import re
import zipfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import onnx

from tests.support.mutations import Generator, mutate_bytes

Mutation = Callable[[bytes, Generator], bytes]

MEMBER_HEADER, DIRECTORY_HEADER, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def pick(rng: Generator, items: Sequence[Any]) -> Any:
    """One of the items."""
    return items[int(rng.integers(len(items)))]


# Zips --------------------------------------------------------------------------------------------


def members(data: bytes) -> dict[str, bytes]:
    """The members of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(contents: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def mutate_zip(data: bytes, rng: Generator, mutations: dict[str, Mutation]) -> bytes:
    """Damage a zip: its bytes, its headers, a compressed stream, or what is in a member.

    Args:
        data: The zip.
        rng: The generator.
        mutations: How to damage members, by the end of their names; others get `mutate_bytes`.
    """
    contents = members(data)
    way = rng.random()
    if way < 0.15:
        return mutate_bytes(data, rng)
    if way < 0.3:
        return mutate_headers(data, rng)
    if way < 0.4:
        deflated = zipped(contents, zipfile.ZIP_DEFLATED)
        start = int(rng.integers(len(deflated)))
        return deflated[:start] + rng.bytes(8) + deflated[start + 8 :]
    if way < 0.5:
        name = pick(rng, list(contents))
        change = pick(rng, ("remove", "rename", "swap"))
        value = contents.pop(name)
        if change == "rename":
            contents[name + "x"] = value
        elif change == "swap":
            other = pick(rng, list(contents))
            contents[name], contents[other] = contents[other], value
        return zipped(contents)
    name = pick(rng, [n for n in contents if n.endswith(tuple(mutations))] or list(contents))
    mutate = next((m for end, m in mutations.items() if name.endswith(end)), mutate_bytes)
    contents[name] = mutate(contents[name], rng)
    return zipped(contents, pick(rng, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def mutate_headers(data: bytes, rng: Generator) -> bytes:
    """Change bytes of the headers of a zip: sizes, offsets, flags, methods, names."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        header = pick(rng, (MEMBER_HEADER, DIRECTORY_HEADER, END))
        starts = [match.start() for match in re.finditer(re.escape(header), data)] or [0]
        place = pick(rng, starts) + int(rng.integers(4, 46))
        value = pick(rng, (0, 1, 0x7F, 0x80, 0xFF, int(rng.integers(256))))
        if place < len(changed):
            changed[place] = value
    return bytes(changed)


# Pickles -----------------------------------------------------------------------------------------


OPERATIONS = (b"K\xff", b"N", b"}", b"]", b"(", b"0", b"2", b"\x8a\x08" + b"\xff" * 8)
"""Operations that push a value, and some that pop one or repeat it."""


def mutate_pickle(data: bytes, rng: Generator) -> bytes:
    """Damage the bytes of a pickle, or remove, repeat, swap or nest some of its operations."""
    if rng.random() < 0.4:
        return mutate_bytes(data, rng)
    starts = [position for *_, position in pickletools.genops(data)] + [len(data)]
    parts = [data[a:b] for a, b in pairwise(starts)]
    for _ in range(int(rng.integers(1, 4))):
        i, j = (int(n) for n in rng.integers(len(parts), size=2))
        change = rng.integers(6)
        if change == 0:
            del parts[i]
        elif change == 1:
            parts.insert(i, parts[j])
        elif change == 2:
            parts[i], parts[j] = parts[j], parts[i]
        elif change == 3:
            parts.insert(i, b"\x85" * 10_000)  # nest what is on the stack
        elif change == 4:
            parts.insert(
                i, pick(rng, (b"K\xff", b"N", b"}", b"]", b"(", b"\x8a\x08" + b"\xff" * 8))
            )
        else:
            parts[i] = mutate_bytes(parts[i], rng)
    return b"".join(parts)


# ONNX --------------------------------------------------------------------------------------------

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 64, 2**15, 2**31 - 1, 2**31, 2**62, -(2**63))
TEXTS = (
    "",
    "x",
    "obs",
    "q",
    "w",
    "a\nb",
    "Loop",
    "If",
    "Relu",
    "Reshape",
    "Expand",
    "com.microsoft",
)


def mutate_model(data: bytes, rng: Generator, operators: Sequence[str]) -> bytes:
    """Damage a model: its bytes, or one to three of its fields."""
    if rng.random() < 0.2:
        return mutate_bytes(data, rng)
    model = onnx.ModelProto.FromString(data)
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.25 and len(model.graph.node):
            mutate_node(pick(rng, model.graph.node), rng, operators)
        else:
            message, field = pick(rng, _fields(model))
            _mutate_field(message, field, rng)
    return bytes(model.SerializeToString())


def mutate_node(node: Any, rng: Generator, operators: Sequence[str]) -> None:
    """Another operator, or another attribute."""
    if rng.random() < 0.6:
        node.op_type = pick(rng, operators)
        return
    name = pick(rng, ("axis", "axes", "strides", "pads", "group", "kernel_shape", "to", "perm"))
    value = pick(rng, NUMBERS)
    several = [value] * int(rng.integers(1, 5))
    node.attribute.append(onnx.helper.make_attribute(name, pick(rng, (value, several))))


def _fields(message: Any) -> list[tuple[Any, Any]]:
    """All (message, field) in a tree of messages."""
    fields = []
    for field, value in message.ListFields():
        fields.append((message, field))
        if field.message_type is not None:
            for child in value if field.is_repeated else (value,):
                fields += _fields(child)
    return fields


def _mutate_field(message: Any, field: Any, rng: Generator) -> None:
    if rng.random() < 0.15:
        message.ClearField(field.name)
        return
    if field.is_repeated:
        values = getattr(message, field.name)
        i = int(rng.integers(len(values))) if len(values) else 0
        change = rng.integers(3)
        if change == 0 and len(values):
            del values[i]
        elif change == 1 and len(values):
            values.append(values[i])
        elif field.message_type is None and len(values):
            values[i] = _other(values[i], rng)
    elif field.message_type is None:
        try:
            setattr(message, field.name, _other(getattr(message, field.name), rng))
        except ValueError:
            message.ClearField(field.name)  # the value does not fit the field


def _other(value: Any, rng: Generator) -> Any:
    if isinstance(value, bytes):
        return mutate_bytes(value, rng) if value else b"x"
    if isinstance(value, str):
        return pick(rng, TEXTS)
    if isinstance(value, float):
        return pick(rng, (0.0, -1.0, 1e38, float("nan"), float("inf")))
    return pick(rng, NUMBERS)
