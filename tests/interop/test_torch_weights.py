"""Weights of PyTorch read without PyTorch: as PyTorch reads them, and never more than the file."""

import io
import pickle
import zipfile
from typing import Any

import numpy as np
import pytest
import torch

from policy_inertia.interop.torch_weights import parse_weights


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def test_every_kind_of_tensor_is_read_as_pytorch_reads_it() -> None:
    generator = torch.Generator().manual_seed(0)
    base = torch.randn(6, 8, generator=generator)
    pictures = torch.randn(2, 3, 4, 5, generator=generator)
    types = (torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8)
    state: dict[str, Any] = {f"type {t}": (3 * base).to(t) for t in (*types, torch.uint8)}
    state |= {
        "bool": base > 0,
        "transposed": base.T,
        "part": base[1:4, ::2],
        "shared": base,
        "scalar": torch.tensor(3.5),
        "empty": torch.zeros(0, 4),
        "channels last": pictures.to(memory_format=torch.channels_last),
        "parameter": torch.nn.Parameter(base.clone()),
    }
    data = saved(state)
    weights, expected = parse_weights(data), torch.load(io.BytesIO(data), weights_only=True)
    assert list(weights) == list(expected)
    for key, values in weights.items():
        theirs = expected[key].detach().numpy()
        assert values.dtype == theirs.dtype
        assert values.shape == theirs.shape
        assert values.flags.c_contiguous
        np.testing.assert_array_equal(values, theirs)


def test_state_dict_of_a_module_is_read() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    weights = parse_weights(saved(module.state_dict()))
    assert list(weights) == list(module.state_dict())
    assert weights["1.num_batches_tracked"].shape == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"w": torch.zeros(1).expand(10**5, 10**5)},
            r"shape \(100000, 100000\) in a storage",
        ),
        ({"w": torch.zeros(4, 1).expand(4, 5)}, r"shape \(4, 5\) in a storage of 4 "),
        ({"w": torch.zeros(3, dtype=torch.bfloat16)}, "tensors of type BFloat16Storage"),
        ({"w": torch.zeros(3, dtype=torch.complex64)}, "tensors of type ComplexFloatStorage"),
        ({"w": [torch.zeros(3)]}, "'w' is no tensor"),
        ({"w": 3}, "'w' is no tensor"),
        ({3: torch.zeros(3)}, "something else than tensors with names"),
        ({("a", "b"): torch.zeros(3)}, "other keys than texts and numbers"),
        ([torch.zeros(3)], "something else than tensors with names"),
        (torch.nn.Linear(2, 2), "something else than tensors with names"),
    ],
)
def test_other_things_than_weights_are_refused(value: Any, message: str) -> None:
    data = saved(value)
    assert len(data) < 10_000
    with pytest.raises(ValueError, match=message):
        parse_weights(data)


def with_pickle(pickled: bytes, storages: dict[str, bytes], compression: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("a/data.pkl", pickled)
        for name, data in storages.items():
            archive.writestr(f"a/data/{name}", data)
    return buffer.getvalue()


class Tensor:
    """Pickled as a tensor of PyTorch with any layout."""

    def __init__(self, key: Any, count: Any, offset: Any, shape: Any, strides: Any) -> None:
        self.layout = key, count, offset, shape, strides

    def __reduce__(self) -> Any:
        key, count, *rest = self.layout
        return torch._utils._rebuild_tensor_v2, (Storage(key, count), *rest, False, {})


class Storage:
    def __init__(self, key: Any, count: Any) -> None:
        self.id = ("storage", torch.FloatStorage, key, "cpu", count)


class Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return obj.id if isinstance(obj, Storage) else None


def pickled_tensors(tensors: dict[str, Tensor]) -> bytes:
    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(tensors)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor("0", 6, 0, (2, 3), (3, 1)), None),
        (Tensor("0", 6, 1, (2, 3), (3, 1)), "in a storage of 6"),
        (Tensor("0", 6, -1, (2, 3), (3, 1)), "without a shape"),
        (Tensor("0", 6, 0, (2, 3), (-3, 1)), "without a shape"),
        (Tensor("0", 6, 0, (-2, 3), (3, 1)), "without a shape"),
        (Tensor("0", 6, 0, (2, 3), (1,)), "without a shape"),
        (Tensor("0", 6, 0, (2.0, 3), (3, 1)), "without a shape"),
        (Tensor("0", 6, 0, (True, 3), (3, 1)), "without a shape"),
        (Tensor("0", 6, 0, (2, 3), (2**70, 1)), "in a storage of 6"),
        (Tensor("0", 7, 0, (2, 3), (3, 1)), "24 bytes for an array of shape"),
        (Tensor("0", 10**12, 0, (2, 3), (3, 1)), "24 bytes for an array of shape"),
        (Tensor("9", 6, 0, (2, 3), (3, 1)), "no item named"),
        (Tensor(("0",), 6, 0, (2, 3), (3, 1)), "a storage without a name"),
    ],
)
def test_tensor_must_fit_into_its_storage(tensor: Tensor, message: str | None) -> None:
    values = np.arange(6, dtype=np.float32)
    data = with_pickle(pickled_tensors({"w": tensor}), {"0": values.tobytes()})
    if message is None:
        assert (parse_weights(data)["w"] == values.reshape(2, 3)).all()
        return
    with pytest.raises((ValueError, KeyError), match=message):
        parse_weights(data)


def test_tensors_that_share_a_storage_cannot_multiply_the_file() -> None:
    tensors = {f"w{i}": Tensor("0", 2**18, 0, (2**18,), (1,)) for i in range(100)}
    data = with_pickle(pickled_tensors(tensors), {"0": bytes(2**20)})
    with pytest.raises(ValueError, match="its tensors are much larger than the file"):
        parse_weights(data)


def test_compressed_storages_cannot_be_larger_than_the_file() -> None:
    tensors = {"w": Tensor("0", 2**18, 0, (2**18,), (1,))}
    data = with_pickle(pickled_tensors(tensors), {"0": bytes(2**20)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="its tensors are larger than the file"):
        parse_weights(data)


def test_files_of_early_pytorch_are_refused() -> None:
    buffer = io.BytesIO()
    torch.save({"w": torch.zeros(3)}, buffer, _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match=r"PyTorch before 1\.6"):
        parse_weights(buffer.getvalue())


def test_big_endian_weights_are_read() -> None:
    tensors = pickled_tensors({"w": Tensor("0", 3, 0, (3,), (1,))})
    values = np.arange(3, dtype=">f4")
    buffer = io.BytesIO(with_pickle(tensors, {"0": values.tobytes()}))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("a/byteorder", "big")
    assert (parse_weights(buffer.getvalue())["w"] == values).all()
