"""Zips of Stable-Baselines3 that run code wherever a pickle of theirs is loaded."""

import base64
import io
import pickle
from pathlib import Path
from typing import Any

import torch

from tests.support.sb3_zips import data_of, rewrite, with_data


class Poison:
    """What leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def poisoned_zips(path: Path, folder: Path, trace: Path) -> list[Path]:
    """Copies of a zip: one with poison in every pickle of its JSON, one with poisoned weights."""
    text = base64.b64encode(pickle.dumps(Poison(trace))).decode()
    data = data_of(path)
    places = [value for value in data.values() if isinstance(value, dict)]
    for value in places:
        if ":serialized:" in value:
            value[":serialized:"] = text
    data["poison"] = {":type:": "<class 'Poison'>", ":serialized:": text}
    weights = io.BytesIO()
    torch.save({"action_net.weight": Poison(trace)}, weights)
    return [
        with_data(path, folder / "poisoned_data.zip", data),
        rewrite(path, folder / "poisoned_weights.zip", {"policy.pth": weights.getvalue()}),
    ]
