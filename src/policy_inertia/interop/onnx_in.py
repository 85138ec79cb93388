"""An ONNX file as a core: one input, the observation; one output that is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia.envs.spaces import Spaces
from policy_inertia.errors import InputError, nearest
from policy_inertia.interop.description import Kind
from policy_inertia.policies.probing import Ask, checked, examples, guess

NAMES: dict[Kind, tuple[str, ...]] = {  # what exporters call their outputs
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


def session(path: Path, data: bytes | None = None) -> Any:
    """An ONNX file, or its bytes, ready to run on one thread: small networks need no more."""
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
    except Exception as error:  # onnxruntime has a class for each kind of fault, none in common
        reason = str(error).split("\n")[0].rpartition(" : ")[2]
        raise InputError(
            f"onnxruntime {onnxruntime.__version__} cannot load {path} ({reason}): export it "
            "again, with an opset that this version knows, such as 17"
        ) from error


def read(
    path: Path, space: gym.Space, spaces: Spaces, output: Kind | None, output_name: str | None
) -> tuple[Kind, Ask]:
    """What the file gives, told or found out, and a function that asks it."""
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
            f"{path} has the inputs {listed}: a core has no memory and takes the observation alone"
        )
    feed = _feed(path, inputs[0], spaces)

    def outputs(names: list[str]) -> Any:
        return lambda obs: [
            np.concatenate(pieces)
            for pieces in zip(*(run.run(names, piece) for piece in feed(obs)), strict=True)
        ]

    obs = examples(space, 8)
    names = [o.name for o in run.get_outputs()]
    try:
        answers = dict(zip(names, outputs(names)(obs), strict=True))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} does not run on observations of shape {spaces.obs_shape} "
            f"({str(error).splitlines()[0]}): give the env that it was made for"
        ) from error
    chosen, kind = _choose(path, answers, spaces, output, output_name)
    checked(answers[chosen], kind, len(obs), spaces, path.name)
    ask = outputs([chosen])
    return kind, lambda obs: ask(obs)[0]


def _choose(
    path: Path,
    answers: dict[str, np.ndarray],
    spaces: Spaces,
    kind: Kind | None,
    name: str | None,
) -> tuple[str, Kind]:
    """Which output to use, and what it is: by what the user said, its name, its values."""
    if name is not None and name not in answers:
        raise InputError(f"{path} has no output '{name}'{nearest(name, answers)}")
    candidates = [name] if name is not None else list(answers)
    called = {c: k for c in candidates for k, names in NAMES.items() if c.lower() in names}
    if kind is not None:
        by_name = [c for c, k in called.items() if k == kind]
        fitting = by_name or [c for c in candidates if _fits(answers[c], kind, spaces)]
        if len(fitting) == 1:
            return fitting[0], kind
        if len(candidates) == 1:
            return candidates[0], kind  # `checked` says what is wrong with it
        raise InputError(_question(path, answers, f"which of them is the {kind}"))
    for wanted in NAMES:  # probabilities before logits before Q-values before actions
        for c, k in called.items():
            if k == wanted and _fits(answers[c], k, spaces):
                return c, k
    if len(candidates) > 1:
        raise InputError(_question(path, answers, "which of them is which"))
    return candidates[0], guess(answers[candidates[0]], spaces, path.name)


def _fits(values: np.ndarray, kind: Kind, spaces: Spaces) -> bool:
    if kind == "action":
        return values.size == len(values) and values.dtype.kind in "iu"
    return values.shape == (len(values), spaces.discrete.n) and values.dtype.kind == "f"


def _question(path: Path, answers: dict[str, np.ndarray], what: str) -> str:
    found = ", ".join(f"{n} {v.dtype}{list(v.shape[1:])}" for n, v in answers.items())
    return (
        f"{path} has the outputs {found}: {what}? Say output_name=... and output='action', "
        "'logits', 'probabilities' or 'q'"
    )


def _feed(path: Path, given: Any, spaces: Spaces) -> Any:
    """A function from a batch to what the file is fed with: its type, its shape, its batches."""
    if given.type not in DTYPES:
        raise InputError(f"{path} takes {given.type} as its input: expected numbers")
    dtype = DTYPES[given.type]
    shape = given.shape
    fixed = [d if isinstance(d, int) and d > 0 else 0 for d in shape]  # 0: free
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
            return [{given.name: batch}]
        if len(batch) % size:
            raise InputError(
                f"{path} takes {size} observations at a time: export it with a dynamic batch"
            )
        return [{given.name: batch[i : i + size]} for i in range(0, len(batch), size)]

    return feed
