"""Weights that PyTorch saved, as NumPy arrays, without PyTorch.

A .pth file is a zip: a pickle that describes the tensors, and one member for each storage. The
pickle is read as data (`pickled_data`), so it cannot run code, whichever version of PyTorch is
installed. Every tensor must fit into the bytes of its storage.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np

from policy_inertia.interop.foreign_files import number_array, read_members, shown
from policy_inertia.interop.pickled_data import Call, Name, PersistentId, read_pickle

PICKLE_LIMIT = 16 * 2**20
"""Bytes of the pickle that describes the tensors."""
SHARING = 8
"""All tensors together have at most this many times the bytes of the file."""
TYPES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
PARAMETER = Name("torch._utils", "_rebuild_parameter")
ORDERED = Name("collections", "OrderedDict")


def parse_weights(data: bytes) -> dict[str, np.ndarray]:
    """The tensors of a `state_dict` that `torch.save` wrote.

    Call it inside `foreign_files.parsing`.

    Raises:
        Exception: The file is damaged, or holds other things than tensors with names.
    """
    if not data.startswith(b"PK"):
        raise ValueError("weights of PyTorch before 1.6, or no weights")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _Weights(archive, len(data)).read()


class _Weights:
    """A .pth file that is being read; all that is read together is at most as large as the file."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self.archive, self.size = archive, size
        self.folder = _folder(archive)
        self.big_endian = self._optional("byteorder") == b"big"
        self.storages: dict[str, np.ndarray] = {}
        self.unread, self.unused = size, SHARING * size

    def read(self) -> dict[str, np.ndarray]:
        name = f"{self.folder}data.pkl"
        members = read_members(self.archive, [name], self.size, PICKLE_LIMIT)
        state = read_pickle(members[name])
        if isinstance(state, Call) and state.function == ORDERED:
            state = state.items
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise ValueError("something else than tensors with names")
        return {key: self._tensor(key, value) for key, value in state.items()}

    def _tensor(self, key: str, value: Any) -> np.ndarray:
        if isinstance(value, Call) and value.function == PARAMETER:
            value = value.args[0]
        if not isinstance(value, Call) or value.function != TENSOR:
            raise ValueError(f"'{shown(key, 80)}' is no tensor")
        storage, offset, shape, strides, *_ = value.args
        values = self._storage(storage)
        _check_layout(values.size, offset, shape, strides)
        self.unused -= math.prod(shape) * values.itemsize
        if self.unused < 0:
            raise ValueError("its tensors are much larger than the file")
        steps = [stride * values.itemsize for stride in strides]
        view = np.lib.stride_tricks.as_strided(values[offset:], shape, steps, writeable=False)
        return np.array(view, order="C")

    def _storage(self, reference: Any) -> np.ndarray:
        if not isinstance(reference, PersistentId):
            raise ValueError("a tensor without a storage")
        _, kind, key, _, count = reference.value
        if not isinstance(kind, Name) or kind.module != "torch" or kind.name not in TYPES:
            name = kind.name if isinstance(kind, Name) else "unknown"
            raise ValueError(f"tensors of type {shown(name, 40)}")
        if type(key) is not str:
            raise ValueError("a storage without a name")
        if key not in self.storages:
            name = f"{self.folder}data/{key}"
            if self.archive.getinfo(name).file_size > self.unread:
                raise ValueError("its tensors are larger than the file")
            data = read_members(self.archive, [name], self.size)[name]
            self.unread -= len(data)
            dtype = np.dtype(TYPES[kind.name]).newbyteorder(">" if self.big_endian else "<")
            self.storages[key] = number_array(data, dtype, (count,)).astype(TYPES[kind.name])
        return self.storages[key]

    def _optional(self, name: str) -> bytes:
        name = f"{self.folder}{name}"
        if name not in self.archive.namelist():
            return b""
        return read_members(self.archive, [name], self.size, limit=100)[name]


def _folder(archive: zipfile.ZipFile) -> str:
    """The folder inside the file in which PyTorch put everything; its name may be any."""
    names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(names) != 1:
        raise ValueError("weights of PyTorch before 1.6, or no weights")
    return names[0].removesuffix("data.pkl")


def _check_layout(size: int, offset: Any, shape: Any, strides: Any) -> None:
    """Check that a tensor lies inside its storage, and uses no element of it twice.

    PyTorch can store an expanded tensor: one number that stands for billions.
    """
    numbers = [offset, *shape, *strides]
    if not all(type(n) is int and n >= 0 for n in numbers) or len(shape) != len(strides):
        raise ValueError("a tensor without a shape")
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if math.prod(shape) > size or (math.prod(shape) and last >= size):
        raise ValueError(f"a tensor of shape {shown(shape, 80)} in a storage of {size:,} numbers")
