"""Export a policy as one ONNX file, which any ONNX runtime can run.

The graph is built by hand from the policy's layers (`onnx_layers.py`, `onnx_rules.py`). Before the
file is written, it is compared with the policy itself.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.interop.description import PolicyDescription, describe, exported
from policy_inertia.interop.onnx_form import MASKS, Form, Tensor
from policy_inertia.interop.onnx_forms import form_of
from policy_inertia.interop.onnx_graph import IR_VERSION, OPSET, GraphBuilder
from policy_inertia.interop.onnx_observations import add_observation, observation_inputs
from policy_inertia.interop.onnx_rules import PRICE
from policy_inertia.machine import versions
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.policy import Policy
from policy_inertia.storage import FORMAT

CHECKED = 1_000  # observations on which the file is compared; fewer for images


@dataclass(frozen=True)
class Exported:
    """The file that was written, and how it compares with the policy on random inputs."""

    path: Path
    nodes: int
    checked: int
    """Number of random inputs."""
    difference: float
    """The largest difference of a probability or of the inertia; for continuous actions, of an
    action, as a share of half its range."""
    ties: int
    """Different actions; in all of these rows rounding decides, as between two actions that are
    equally good."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.nodes} nodes, equal to the policy on {self.checked:,} random "
            f"inputs within {self.difference:.1e} ({self.ties} ties broken differently)"
        )


def export(
    policy: Policy | Core | ContinuousCore, path: str | os.PathLike[str], dial: bool = False
) -> Exported:
    """Write a policy, or a core whose network is known, as one ONNX file.

    The batch size is free. Actions are counted from 0: if the env counts from another number, add
    `first_action` of the file's metadata.

    Inputs of the file:
        observation: float32 of the env's shape, or int64 if observations are Discrete. Of Dict
            observations, each entry is an input: `observation_` and its key.
        action_masks: bool, one for each action, only for policies that were trained with masks.
        previous_action: int64; -1 at the start of an episode.
        remaining: int64, only for methods that hold an action for several steps: `next_remaining`
            of the last step; 0 at the start of an episode.
        tokens: int64, only with a limit: `next_tokens` of the last step, in millionths of a token.
            At the start of an episode any number will do, unless the tokens are carried over: then
            the very first one is the burst.
        forced_switches: int64, only with a limit and masks: `next_forced_switches` of the last
            step, the switches of the episode that the masks forced.
        lambda: float32, only with `dial`: one price of switching for all rows, or one for each;
            below 0 a margin, as in `Policy.at`.

    Outputs of the file:
        action: int64, the most probable action; with hysteresis or a limit, the action after the
            filter.
        probabilities: float32, of the mixed policy; filters are not part of them.
        inertia: float32, mu(s, a_prev).
        next_remaining: int64, only for methods that hold an action for several steps.
        next_tokens: int64, only with a limit.

    With continuous actions, `previous_action` and `action` are the env's own, in their shape, type
    and units; NaN at the start of an episode. There are no probabilities and no inertia. Filter and
    limit add inputs such as `filter_output` and outputs such as `next_filter_output`, float64,
    which start as NaN.

    Args:
        policy: What to export.
        path: Where to write it; must end in .onnx.
        dial: Whether the price of a dial is an input, so that whoever runs the file can turn it.
            By default the file keeps the price that the dial is set to.

    Raises:
        InputError: The policy cannot be exported, has no dial, or the file differs from it.
    """
    path = Path(path)
    if path.suffix != ".onnx":
        raise InputError(f"{path} ends in '{path.suffix}': an ONNX file ends in .onnx")
    policy = exported(policy)
    description = describe(policy, dial)
    data, nodes = serialise(description)
    checked = CHECKED if np.prod(policy.spaces.obs_shape) < 5_000 else CHECKED // 20
    difference, ties = form_of(description).compare(policy, description, path, data, checked)
    make_folder(path.parent)
    write_file(path, data)
    return Exported(path, nodes, checked, difference, ties)


def serialise(policy: PolicyDescription) -> tuple[bytes, int]:
    """The policy as the bytes of an ONNX file, and the number of its nodes."""
    graph, form = GraphBuilder(), form_of(policy)
    helper = graph.onnx.helper
    add_observation(graph, policy.spaces)
    for name, result in form.add(graph, policy).items():
        graph.add("Identity", result, output=name)
    inputs, outputs = (
        [graph.tensor(name, t.dtype, [t.batch, *t.shape]) for name, t in tensors.items()]
        for tensors in (inputs_of(policy, form), outputs_of(policy, form))
    )
    model = helper.make_model(
        helper.make_graph(graph.nodes, "policy", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="policy-inertia",
        producer_version=versions()["policy-inertia"],
    )
    metadata = _metadata(policy, graph.onnx.__version__) | form.metadata(policy)
    helper.set_model_props(model, {name: str(value) for name, value in metadata.items()})
    graph.onnx.checker.check_model(model)
    return model.SerializeToString(), len(graph.nodes)


def inputs_of(policy: PolicyDescription, form: Form) -> dict[str, Tensor]:
    """The inputs of a file: the observation, the policy's memory, and a dial's price."""
    inputs = observation_inputs(policy.spaces)
    if policy.masked:
        inputs[MASKS] = Tensor(np.bool_, (policy.spaces.actions.width,))
    inputs[PREVIOUS_ACTION] = form.outputs(policy)["action"]
    inputs |= _other_memory(policy)
    if policy.controller is not None and policy.controller.price_input:
        inputs[PRICE] = Tensor(np.float32, (), "prices")
    return inputs


def outputs_of(policy: PolicyDescription, form: Form) -> dict[str, Tensor]:
    """The outputs of a file; the action is the new value of the previous action."""
    memory = {f"next_{name}": tensor for name, tensor in _other_memory(policy).items()}
    return form.outputs(policy) | memory


def _other_memory(policy: PolicyDescription) -> dict[str, Tensor]:
    """The memory besides the previous action."""
    rows = {field.name: field.initial(1) for field in policy.memory.fields}
    return {
        name: Tensor(row.dtype, row.shape[1:])
        for name, row in rows.items()
        if name != PREVIOUS_ACTION
    }


def _metadata(policy: PolicyDescription, onnx_version: str) -> dict[str, Any]:
    """What the file says about itself: everything as JSON, and the most wanted as plain text."""
    numbers = {} if policy.controller is None else policy.controller.numbers
    about = {
        "format": FORMAT,
        **policy.about,
        "price": numbers.get("price"),
        "largest_price": numbers.get("largest_price"),
        "spaces": policy.spaces.to_dict(),
        "memory": [field.name for field in policy.memory.fields],
        "versions": versions() | {"onnx": onnx_version},
    }
    return {
        "policy_inertia": json.dumps(about),
        "task": policy.about.get("task", ""),
        "method": policy.about.get("method", ""),
    }
