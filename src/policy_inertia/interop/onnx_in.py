"""ONNX files as cores: one input, the observation, and one output that is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest
from policy_inertia.interop.vec_normalize import after_statistics, read_statistics
from policy_inertia.policies import probing
from policy_inertia.policies.cores import Core, CoreOptions, Loader, read_env, source_name

OUTPUT_NAMES: dict[
    probing.OutputKind, tuple[str, ...]
] = {  # common names of outputs, preferred ones first
    "probabilities": ("probabilities", "probs", "action_probs", "action_probabilities", "pi"),
    "logits": ("logits", "action_logits", "log_probs", "log_probabilities"),
    "q": ("q", "q_values", "qvalues", "q_value"),
    "action": ("action", "actions"),
}
DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
Feed = Callable[[np.ndarray], list[dict[str, np.ndarray]]]


def is_onnx_file(source: Any) -> bool:
    return isinstance(source, Path) and source.suffix == ".onnx" and os.path.exists(source)


def load_onnx(path: Path, env: Any, options: CoreOptions) -> Core:
    """An ONNX file as a core, run by onnxruntime."""
    space, spaces = read_env(path, env, options)
    statistics = read_statistics(options.normalise, spaces)
    # normalised observations may lie outside the bounds of the env's space
    seen = space if statistics is None else probing.gym_space(spaces)
    kind, function = _read_file(path, seen, spaces, options.output, options.output_name)
    function = after_statistics(function, statistics)
    name = options.name or source_name(path)
    return Core(name, spaces, kind, function, options.temperature, space=space)


LOADER = Loader(is_onnx_file, load_onnx)


def session(path: Path, data: bytes | None = None) -> Any:
    """An onnxruntime session for a file, or for the bytes of one.

    It uses one thread: small networks gain nothing from more.
    """
    try:
        import onnxruntime
    except ImportError:
        raise InputError(
            "running an ONNX file needs onnxruntime: pip install policy-inertia[onnx]"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(data or str(path), options, ["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common base class
        reason = str(error).split("\n")[0].rpartition(" : ")[2]
        raise InputError(
            f"onnxruntime {onnxruntime.__version__} cannot load {path} ({reason}): export it "
            "again, with an opset that this version knows, such as 17"
        ) from error


def _read_file(
    path: Path,
    space: gym.Space[Any],
    spaces: Spaces,
    output: probing.OutputKind | None,
    output_name: str | None,
) -> tuple[probing.OutputKind, probing.OutputFunction]:
    """What the file returns, given or inferred, and a function that runs it."""
    run = session(path)
    inputs = run.get_inputs()
    if "policy_inertia" in run.get_modelmeta().custom_metadata_map:
        raise InputError(
            f"{path} is a whole policy that policy-inertia exported, with a previous action as its "
            "memory: give the run folder or the model that it was made of"
        )
    if len(inputs) != 1:
        listed = ", ".join(i.name for i in inputs)
        raise InputError(
            f"{path} has the inputs {listed}: a core has no memory and takes only the observation"
        )
    feed = _feed(path, inputs[0], spaces)

    def outputs(names: list[str]) -> Callable[[np.ndarray], list[np.ndarray]]:
        return lambda obs: [
            np.concatenate(pieces)
            for pieces in zip(*(run.run(names, piece) for piece in feed(obs)), strict=True)
        ]

    obs = probing.example_observations(space, 8)
    names = [o.name for o in run.get_outputs()]
    try:
        values = dict(zip(names, outputs(names)(obs), strict=True))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} does not run on observations of shape {spaces.obs_shape} "
            f"({str(error).splitlines()[0]}): give the env that it was made for"
        ) from error
    chosen, kind = _choose_output(path, values, spaces, output, output_name)
    probing.check_output(values[chosen], kind, len(obs), spaces, path.name)
    function = outputs([chosen])
    return kind, lambda obs: function(obs)[0]


def _choose_output(
    path: Path,
    values: dict[str, np.ndarray],
    spaces: Spaces,
    kind: probing.OutputKind | None,
    name: str | None,
) -> tuple[str, probing.OutputKind]:
    """Choose an output and its kind: by what the user gave, else by its name, else its values."""
    if name is not None and name not in values:
        raise InputError(f"{path} has no output '{name}'{nearest(name, values)}")
    candidates = [name] if name is not None else list(values)
    known = {c: k for c in candidates for k, names in OUTPUT_NAMES.items() if c.lower() in names}
    if kind is not None:
        by_name = [c for c, k in known.items() if k == kind]
        fitting = by_name or [c for c in candidates if _fits(values[c], kind, spaces)]
        if len(fitting) == 1:
            return fitting[0], kind
        if len(candidates) == 1:
            return candidates[0], kind  # `check_output` says what is wrong with it
        raise InputError(_question(path, values, f"which of them is the {kind}"))
    for wanted in OUTPUT_NAMES:
        for c, k in known.items():
            if k == wanted and _fits(values[c], k, spaces):
                return c, k
    if len(candidates) > 1:
        raise InputError(_question(path, values, "which of them is which"))
    return candidates[0], probing.infer_kind(values[candidates[0]], spaces, path.name)


def _fits(values: np.ndarray, kind: probing.OutputKind, spaces: Spaces) -> bool:
    if kind == "action":
        return values.size == len(values) and values.dtype.kind in "iu"
    return values.shape == (len(values), spaces.discrete.n) and values.dtype.kind == "f"


def _question(path: Path, values: dict[str, np.ndarray], question: str) -> str:
    listed = ", ".join(f"{n} {v.dtype}{list(v.shape[1:])}" for n, v in values.items())
    return (
        f"{path} has the outputs {listed}: {question}? Give output_name=... and output='action', "
        "'logits', 'probabilities' or 'q'"
    )


def _feed(path: Path, node: Any, spaces: Spaces) -> Feed:
    """A function from a batch of observations to the inputs of one or more runs of the file.

    It converts the batch to the file's type and shape, and cuts it into batches of the size that
    the file takes.
    """
    if node.type not in DTYPES:
        raise InputError(f"{path} takes {node.type} as its input: expected numbers")
    dtype = DTYPES[node.type]
    shape = node.shape
    fixed = [d if isinstance(d, int) and d > 0 else 0 for d in shape]  # 0: any size
    expected = fixed[1:]
    if 0 in expected or not shape:
        expected = list(spaces.obs_shape)
    if int(np.prod(expected)) != int(np.prod(spaces.obs_shape)):
        raise InputError(
            f"{path} takes observations of shape {tuple(expected)} and the env gives "
            f"{spaces.obs_shape}: give the env that it was made for"
        )
    size = fixed[0] if fixed else 0

    def feed(obs: np.ndarray) -> list[dict[str, np.ndarray]]:
        batch = np.ascontiguousarray(obs, dtype).reshape(len(obs), *expected)
        if not size:
            return [{node.name: batch}]
        if len(batch) % size:
            raise InputError(
                f"{path} takes {size} observations at a time: export it with a dynamic batch"
            )
        return [{node.name: batch[i : i + size]} for i in range(0, len(batch), size)]

    return feed
