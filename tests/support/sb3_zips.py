"""Zips of Stable-Baselines3 with some of their contents replaced."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import torch


def rewrite(path: Path, to: Path, changes: dict[str, bytes]) -> Path:
    """A copy of a zip with some members replaced or added."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in {*old.namelist(), *changes}:
            new.writestr(name, changes[name] if name in changes else old.read(name))
    return to


def data_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("data"))


def with_data(path: Path, to: Path, data: Any) -> Path:
    """A copy of a zip with other JSON."""
    return rewrite(path, to, {"data": json.dumps(data).encode()})


def weights_of(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(io.BytesIO(zipfile.ZipFile(path).read("policy.pth")), weights_only=True)


def with_weights(path: Path, to: Path, weights: Any) -> Path:
    """A copy of a zip with other weights."""
    buffer = io.BytesIO()
    torch.save(weights, buffer)
    return rewrite(path, to, {"policy.pth": buffer.getvalue()})
