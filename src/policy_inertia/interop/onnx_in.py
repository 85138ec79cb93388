"""ONNX files as cores: one input, the observation, and one output that is used.

A file is checked before anything of it is run: what it holds (`onnx_file`), and what a run costs
(`onnx_limits`). With `trust=True` it is given to onnxruntime as it is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest
from policy_inertia.interop.foreign_files import shown
from policy_inertia.interop.onnx_file import OnnxFile
from policy_inertia.interop.onnx_limits import RunLimits
from policy_inertia.interop.onnx_network import with_network
from policy_inertia.interop.vec_normalize import after_statistics, read_statistics
from policy_inertia.policies import probing
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.core_loaders import CoreOptions, Loader, read_env, source_name
from policy_inertia.policies.cores import Core
from policy_inertia.storage import regular_file

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
"""From a batch of observations to the inputs of one or more runs of a file."""


class Input(NamedTuple):
    """The input of a file."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    """Its axes; 0 where the file takes any size."""


def is_onnx_file(source: Any) -> bool:
    return isinstance(source, Path) and source.suffix == ".onnx" and os.path.exists(source)


def load_onnx(path: Path, env: Any, options: CoreOptions) -> Core | ContinuousCore:
    """An ONNX file as a core, run by onnxruntime."""
    space, spaces = read_env(path, env, options)
    statistics = read_statistics(options.normalise, spaces)
    # normalised observations may lie outside the bounds of the env's space
    seen = space if statistics is None else probing.gym_space(spaces)
    kind, output, function = _read_file(path, seen, spaces, options)
    function = after_statistics(function, statistics)
    name = options.name or source_name(path)
    if not spaces.actions.finite:
        core = ContinuousCore.loaded(name, spaces, function, space, options.clip)
        if options.trust:
            return core
        return with_network(core, OnnxFile(path), output, statistics, options.clip)
    return Core(
        name, spaces, kind, function, options.temperature, space=space, masked=options.masks
    )


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
    # onnxruntime takes bytes with "ORTM" in them for another format, whatever was checked
    options.add_session_config_entry("session.load_model_format", "ONNX")
    model = str(path) if data is None else data
    try:
        return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common base class
        reason = shown(str(error).split("\n")[0].rpartition(" : ")[2])
        raise InputError(
            f"onnxruntime {onnxruntime.__version__} cannot load {path} ({reason}): export it "
            "again, with an opset that this version knows, such as 17"
        ) from error


def _read_file(
    path: Path, space: gym.Space[Any], spaces: Spaces, options: CoreOptions
) -> tuple[probing.OutputKind, str, probing.OutputFunction]:
    """What the file returns, given or inferred, its output, and a function that runs it."""
    obs = probing.example_observations(space, 8)
    run, feed = (_trusted if options.trust else _checked)(path, obs, spaces)

    def outputs(names: list[str]) -> Callable[[np.ndarray], list[np.ndarray]]:
        def function(obs: np.ndarray) -> list[np.ndarray]:
            with _running(path, spaces):
                pieces = [run.run(names, piece) for piece in feed(obs)]
                return [np.concatenate(values) for values in zip(*pieces, strict=True)]

        return function

    names = [o.name for o in run.get_outputs()]
    values = dict(zip(names, outputs(names)(obs), strict=True))
    if not spaces.actions.finite:
        chosen = _action_output(path, values, spaces, options.output_name)
        continuous = outputs([chosen])
        return "action", chosen, lambda obs: continuous(obs)[0]  # checked when it is clipped
    chosen, kind = _choose_output(path, values, spaces, options.output, options.output_name)
    probing.check_output(values[chosen], kind, len(obs), spaces, path.name)
    function = outputs([chosen])
    return kind, chosen, lambda obs: function(obs)[0]


def _checked(path: Path, obs: np.ndarray, spaces: Spaces) -> tuple[Any, Feed]:
    """A session for a file, and a feed that checks the cost of each new size of a batch."""
    file = OnnxFile(path)
    _refuse_exported(path, [p.key for p in file.model.metadata_props])
    node = _only_input(path, file.inputs)
    tensor = node.type.tensor_type
    if tensor.elem_type not in file.types:
        raise InputError(f"{path} takes other things than numbers as its input")
    shape = tuple(d.dim_value for d in tensor.shape.dim)
    feed = _feed(path, Input(node.name, file.dtype(tensor.elem_type), shape), spaces)
    limits = RunLimits(file)

    def checked_feed(obs: np.ndarray) -> list[dict[str, np.ndarray]]:
        pieces = feed(obs)
        limits.check(pieces[0][node.name].shape)
        return pieces

    checked_feed(obs)  # before the session, which computes what is constant in the graph
    return session(path, file.data()), checked_feed


def _trusted(path: Path, obs: np.ndarray, spaces: Spaces) -> tuple[Any, Feed]:
    """A session for a file as it is, with any operators and files beside it."""
    run = session(regular_file(path))
    _refuse_exported(path, run.get_modelmeta().custom_metadata_map)
    node = _only_input(path, run.get_inputs())
    if node.type not in DTYPES:
        raise InputError(f"{path} takes {node.type} as its input: expected numbers")
    shape = tuple(d if isinstance(d, int) else 0 for d in node.shape)
    return run, _feed(path, Input(node.name, DTYPES[node.type], shape), spaces)


def _refuse_exported(path: Path, metadata: Collection[str]) -> None:
    if "policy_inertia" in metadata:
        raise InputError(
            f"{path} is a whole policy that policy-inertia exported, with a previous action as its "
            "memory: give the run folder or the model that it was made of"
        )


def _only_input(path: Path, inputs: list[Any]) -> Any:
    if len(inputs) != 1:
        listed = ", ".join(shown(i.name, 40) for i in inputs[:10]) or "nothing"
        raise InputError(
            f"{path} has the inputs {listed}: a core has no memory and takes only the observation"
        )
    return inputs[0]


@contextmanager
def _running(path: Path, spaces: Spaces) -> Iterator[None]:
    """Turn every error of the runtime into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # onnxruntime's errors have no common base class
        raise InputError(
            f"{path} does not run on observations of shape {spaces.obs_shape} ({shown(error)}): "
            "give the env that it was made for"
        ) from error


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


def _action_output(
    path: Path, values: dict[str, np.ndarray], spaces: Spaces, name: str | None
) -> str:
    """The output that holds continuous actions: by what the user gave, its size, or its name."""
    if name is not None and name not in values:
        raise InputError(f"{path} has no output '{name}'{nearest(name, values)}")
    numbers = math.prod(spaces.actions.shape)
    fitting = [c for c, v in values.items() if v.size == len(v) * numbers and v.dtype.kind == "f"]
    named = [c for c in fitting if c.lower() in OUTPUT_NAMES["action"]]
    chosen = [name] if name is not None else named or fitting
    if len(chosen) != 1:
        raise InputError(_question(path, values, f"which of them is an action of {numbers}"))
    return chosen[0]


def _fits(values: np.ndarray, kind: probing.OutputKind, spaces: Spaces) -> bool:
    if kind == "action":
        return values.size == len(values) and values.dtype.kind in "iu"
    return values.shape == (len(values), spaces.discrete.n) and values.dtype.kind == "f"


def _question(path: Path, values: dict[str, np.ndarray], question: str) -> str:
    names = list(values)[:10]
    listed = ", ".join(
        f"{shown(n, 40)} {values[n].dtype}{list(values[n].shape[1:])}" for n in names
    )
    return (
        f"{path} has the outputs {listed}: {question}? Give output_name=... and output='action', "
        "'logits', 'probabilities' or 'q'"
    )


def _feed(path: Path, given: Input, spaces: Spaces) -> Feed:
    """A function from a batch of observations to the inputs of one or more runs of the file.

    It converts the batch to the file's type and shape, and cuts it into batches of the size that
    the file takes.
    """
    size, *expected = given.shape or (0,)
    if 0 in expected or not given.shape:
        expected = list(spaces.obs_shape)
    if min(expected, default=1) < 0 or math.prod(expected) != math.prod(spaces.obs_shape):
        raise InputError(
            f"{path} takes observations of shape {tuple(expected)} and the env gives "
            f"{spaces.obs_shape}: give the env that it was made for"
        )

    def feed(obs: np.ndarray) -> list[dict[str, np.ndarray]]:
        batch = np.ascontiguousarray(obs, given.dtype).reshape(len(obs), *expected)
        if size <= 0:
            return [{given.name: batch}]
        if len(batch) % size:
            raise InputError(
                f"{path} takes {size} observations at a time: export it with a dynamic batch"
            )
        return [{given.name: batch[i : i + size]} for i in range(0, len(batch), size)]

    return feed
