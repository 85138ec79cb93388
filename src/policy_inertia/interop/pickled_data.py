"""Pickles as plain data: their opcodes are read, and nothing is imported, called or built.

A pickle is a program for a small stack machine. This module runs that program, except for the steps
that import a name or call it: these leave a `Name` or a `Call` behind, which say what the pickle
asked for. So a pickle cannot run code, and takes memory in proportion to its own size.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.interop.foreign_files import number_array

OPERATIONS = 200_000
"""Opcodes of a pickle that are read."""


class Name(NamedTuple):
    """A name that the pickle asked to import."""

    module: str
    name: str


class PersistentId(NamedTuple):
    """A reference to something outside of the pickle, such as a storage of PyTorch."""

    value: Any


@dataclass(eq=False)
class Call:
    """A call that the pickle asked for, and what it then asked to put into the result."""

    function: Any
    args: Any
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


def read_pickle(data: bytes) -> Any:
    """What a pickle describes, as plain values, `Name`, `Call` and `PersistentId`.

    Call it inside `foreign_files.parsing`.

    Raises:
        Exception: The pickle is damaged, too long, or uses an opcode that is not supported. Most
            are of type ValueError, IndexError, KeyError or TypeError.
    """
    machine = _Machine()
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if opcode.name == "STOP":
            return machine.stack.pop()
        if count == OPERATIONS:
            raise ValueError(f"it has more than {OPERATIONS:,} operations")
        machine.step(opcode.name, argument)
    raise ValueError("it has no end")


def pickled_array(value: Any) -> np.ndarray:
    """An array or a number that NumPy or Python pickled.

    Raises:
        ValueError: It is something else, or its shape does not fit its bytes.
    """
    if isinstance(value, int | float):
        return np.asarray(float(value))
    if isinstance(value, Call) and isinstance(value.function, Name):
        module, name = value.function
        module = module.replace("numpy.core", "numpy._core")  # the name before NumPy 2
        if (module, name) == ("numpy._core.multiarray", "_reconstruct"):
            _, shape, dtype, fortran_order, data = value.state
            return _array(data, dtype, shape, bool(fortran_order))
        if (module, name) == ("numpy._core.numeric", "_frombuffer"):
            data, dtype, shape, order = value.args
            return _array(data, dtype, shape, order == "F")
        if (module, name) == ("numpy._core.multiarray", "scalar"):
            dtype, data = value.args
            return _array(data, dtype, (), False)
    raise ValueError("it holds other things than arrays of numbers where these should be")


def _array(data: Any, dtype: Any, shape: Any, fortran_order: bool) -> np.ndarray:
    if not isinstance(data, bytes | bytearray):
        raise ValueError("an array without bytes")
    if not isinstance(shape, tuple) or not all(type(n) is int for n in shape):
        raise ValueError("an array without a shape")
    if not isinstance(dtype, Call) or dtype.function != Name("numpy", "dtype"):
        raise ValueError("an array without a type")
    code, order = dtype.args[0], dtype.state[1]
    if type(code) is not str or len(code) > 3 or order not in ("<", ">", "|", "="):
        raise ValueError("an array of an unknown type")
    return number_array(bytes(data), np.dtype(code).newbyteorder(order), shape, fortran_order)


MARK = object()
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
PUSHED = {  # opcodes whose argument is the value
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("BYTEARRAY8", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
}
IGNORED = {"PROTO", "FRAME"}
PUT, GET = {"PUT", "BINPUT", "LONG_BINPUT"}, {"GET", "BINGET", "LONG_BINGET"}
Key = str | int | float | bytes | None


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, opcode: str, argument: Any) -> None:
        stack = self.stack
        if opcode in PUSHED:
            stack.append(argument)
        elif opcode in CONSTANTS:
            stack.append(CONSTANTS[opcode])
        elif opcode in PUT:
            self.memo[argument] = stack[-1]
        elif opcode in GET:
            stack.append(self.memo[argument])
        elif opcode == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif opcode == "GLOBAL":
            module, _, name = argument.partition(" ")
            stack.append(Name(module, name))
        elif opcode in STEPS:
            STEPS[opcode](self)
        elif opcode not in IGNORED:
            raise ValueError(f"the opcode {opcode}")

    def take(self, n: int) -> list[Any]:
        """Remove the last `n` values."""
        if len(self.stack) < n:
            raise ValueError("a value is missing")
        values = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return values

    def since_mark(self) -> list[Any]:
        """Remove the values since the last mark, and the mark."""
        for start in reversed(range(len(self.stack))):
            if self.stack[start] is MARK:
                return self.take(len(self.stack) - start)[1:]
        raise ValueError("a mark is missing")

    def push_name(self) -> None:
        module, name = self.take(2)
        if type(module) is not str or type(name) is not str:
            raise ValueError("a name that is no text")
        self.stack.append(Name(module, name))

    def push_call(self) -> None:
        self.stack.append(Call(*self.take(2)))

    def push_call_with_names(self) -> None:
        function, args, _ = self.take(3)
        self.stack.append(Call(function, args))

    def build(self) -> None:
        (state,) = self.take(1)
        if not isinstance(self.stack[-1], Call):
            raise ValueError("a state of something that has none")
        self.stack[-1].state = state

    def append(self, values: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1] += values
        elif not isinstance(self.stack[-1], Call):  # an object of a class that extends list
            raise ValueError("items of something that has none")

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        items = target.items if isinstance(target, Call) else target
        if not isinstance(items, dict):
            raise ValueError("items of something that has none")
        items.update(_pairs(values))


def _pairs(values: list[Any]) -> dict[Key, Any]:
    """Keys and values by turns; only simple keys, as the hash of a deep tuple may end Python."""
    keys = values[::2]
    if not all(isinstance(key, Key) for key in keys):
        raise ValueError("a dictionary with other keys than texts and numbers")
    return dict(zip(keys, values[1::2], strict=True))


STEPS: dict[str, Callable[[_Machine], Any]] = {
    "MARK": lambda m: m.stack.append(MARK),
    "EMPTY_LIST": lambda m: m.stack.append([]),
    "EMPTY_TUPLE": lambda m: m.stack.append(()),
    "EMPTY_DICT": lambda m: m.stack.append({}),
    "EMPTY_SET": lambda m: m.stack.append([]),  # as a list: what is in it need not be hashed
    "LIST": lambda m: m.stack.append(m.since_mark()),
    "FROZENSET": lambda m: m.stack.append(m.since_mark()),
    "DICT": lambda m: m.stack.append(_pairs(m.since_mark())),
    "TUPLE": lambda m: m.stack.append(tuple(m.since_mark())),
    "TUPLE1": lambda m: m.stack.append(tuple(m.take(1))),
    "TUPLE2": lambda m: m.stack.append(tuple(m.take(2))),
    "TUPLE3": lambda m: m.stack.append(tuple(m.take(3))),
    "APPEND": lambda m: m.append(m.take(1)),
    "APPENDS": lambda m: m.append(m.since_mark()),
    "ADDITEMS": lambda m: m.append(m.since_mark()),
    "SETITEM": lambda m: m.set_items(m.take(2)),
    "SETITEMS": lambda m: m.set_items(m.since_mark()),
    "STACK_GLOBAL": _Machine.push_name,
    "REDUCE": _Machine.push_call,
    "NEWOBJ": _Machine.push_call,
    "NEWOBJ_EX": _Machine.push_call_with_names,
    "BUILD": _Machine.build,
    "BINPERSID": lambda m: m.stack.append(PersistentId(*m.take(1))),
    "POP": lambda m: m.take(1),
    "POP_MARK": lambda m: m.since_mark(),
    "DUP": lambda m: m.stack.append(m.stack[-1]),
}
"""What an opcode without an argument does."""
