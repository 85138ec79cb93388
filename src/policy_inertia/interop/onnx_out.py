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

from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.interop.description import PolicyDescription, describe
from policy_inertia.interop.onnx_graph import IR_VERSION, OPSET, GraphBuilder
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_rules import OBSERVATION, PRICE, add_policy
from policy_inertia.machine import versions
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import example_observations, gym_space
from policy_inertia.storage import FORMAT

CHECKED = 1_000  # observations on which the file is compared; fewer for images
TOLERANCE = 1e-4  # of probabilities and inertia, absolute
ROUNDING = 1e-5  # relative; closer scores count as ties


@dataclass(frozen=True)
class Exported:
    """The file that was written, and how it compares with the policy on random inputs."""

    path: Path
    nodes: int
    checked: int
    """Number of random inputs."""
    difference: float
    """The largest difference of a probability or of the inertia."""
    ties: int
    """Different actions; in all of these rows two actions are equally good up to rounding."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.nodes} nodes, equal to the policy on {self.checked:,} random "
            f"inputs within {self.difference:.1e} ({self.ties} ties broken differently)"
        )


def export(policy: Policy | Core, path: str | os.PathLike[str], dial: bool = False) -> Exported:
    """Write a policy, or a core whose network is known, as one ONNX file.

    The batch size is free. Actions are counted from 0: if the env counts from another number, add
    `first_action` of the file's metadata.

    Inputs of the file:
        observation: float32 of the env's shape, or int64 if observations are Discrete.
        previous_action: int64; -1 at the start of an episode.
        remaining: int64, only for methods that hold an action for several steps: `next_remaining`
            of the last step; 0 at the start of an episode.
        tokens: int64, only with a limit: `next_tokens` of the last step, in millionths of a token.
            At the start of an episode any number will do, unless the tokens are carried over: then
            the very first one is the burst.
        lambda: float32, only with `dial`: one price of switching for all rows, or one for each;
            below 0 a margin, as in `Policy.at`.

    Outputs of the file:
        action: int64, the most probable action; with hysteresis or a limit, the action after the
            filter.
        probabilities: float32, of the mixed policy; filters are not part of them.
        inertia: float32, mu(s, a_prev).
        next_remaining: int64, only for methods that hold an action for several steps.
        next_tokens: int64, only with a limit.

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
    description = describe(policy, dial)
    data, nodes = serialise(description)
    checked = CHECKED if np.prod(policy.spaces.obs_shape) < 5_000 else CHECKED // 20
    difference, ties = compare(policy, description, path, data, checked)
    make_folder(path.parent)
    write_file(path, data)
    return Exported(path, nodes, checked, difference, ties)


def compare(
    policy: Policy | Core, description: PolicyDescription, path: Path, data: bytes, n: int
) -> tuple[float, int]:
    """Compare a file with its policy on `n` random inputs.

    Returns:
        The largest difference of a number, and how many actions differ. Actions may differ only
        where two of them are equally good up to rounding.

    Raises:
        InputError: The file and the policy differ.
    """
    name = str(policy)
    space = policy.space if isinstance(policy, Core) else gym_space(policy.spaces)
    obs = example_observations(space, n)
    state = _random_state(policy, n)
    previous = state[PREVIOUS_ACTION]
    feed = {
        OBSERVATION: obs.astype(np.int64 if policy.spaces.n_states is not None else np.float32),
        **state,
    }
    if isinstance(policy, Core):
        acting = policy.acting(obs)
    else:
        if description.controller is not None and description.controller.price_input:
            feed[PRICE] = _random_prices(policy, n)
            policy = policy.at(feed[PRICE])
        acting = policy.acting(policy.spaces.encode(obs), previous, policy.tokens(state))
    action, new_state = policy.predict(obs, state, deterministic=True)
    action = policy.spaces.actions.from_env(action)
    expected = {f"next_{name}": rows for name, rows in new_state.items() if name != PREVIOUS_ACTION}
    names = ["action", "probabilities", "inertia", *expected]
    their_action, their_pi, their_mu, *fields = session(path, data).run(names, feed)

    pi = np.exp(acting.policy.log_pi).reshape(n, policy.spaces.discrete.n, -1).sum(2)
    gaps = np.maximum(abs(pi - their_pi).max(1), abs(acting.mu - their_mu))
    differ = action != their_action
    for ours, theirs in zip(expected.values(), fields, strict=True):
        differ |= ours != theirs
    scores = np.asarray(acting.scores)
    near = _ties(policy, description, obs, previous, scores, acting.core.mode())
    difference = float(gaps[~near].max(initial=0))
    wrong = int((differ & ~near).sum())
    if not difference <= TOLERANCE or wrong:
        raise InputError(
            f"the ONNX graph differs from {name} by {difference:.1e} and in {wrong} of {n} "
            "actions: nothing was written, so please report it"
        )
    return difference, int(differ.sum())


def _random_state(policy: Policy | Core, n: int) -> State:
    """States in the middle of episodes and at their start, with any previous action."""
    rng = np.random.default_rng(1)
    state = policy.memory.sample(rng, n)
    return policy.memory.reset(state, rng.random(n) < 0.25)


def _random_prices(policy: Policy, n: int) -> np.ndarray:
    """Prices over a dial's whole range and beyond, its core, and the price that it is set to."""
    price, largest = policy.price, policy.largest_price
    assert price is not None
    assert largest is not None
    spread = np.random.default_rng(2).choice([-1.0, -0.01, 0.0, 0.003, 0.1, 0.5, 2.0], n) * largest
    return np.where(np.arange(n) % 4 == 0, price, spread).astype(np.float32)


def _ties(
    policy: Policy | Core,
    description: PolicyDescription,
    obs: np.ndarray,
    previous: np.ndarray,
    scores: np.ndarray,
    core_action: np.ndarray,
) -> np.ndarray:
    """The rows in which rounding may decide which action is taken."""
    rows = np.arange(len(obs))
    near = nearly_tied(description.core_output(obs)) | nearly_tied(scores)
    if description.controller is not None:  # it may compare repeating with the core's action
        repeat, follow = scores[rows, previous], scores[rows, core_action]
        near |= (previous != core_action) & (abs(repeat - follow) <= ROUNDING * (1 + abs(follow)))
    if policy.hysteresis is not None:
        gain = scores.max(1) - scores[rows, previous]
        sizes = np.where(scores > IMPOSSIBLE, abs(scores), 0)
        near |= abs(gain - policy.hysteresis) <= ROUNDING * (1 + sizes.max(1))
    return near


def nearly_tied(scores: np.ndarray) -> np.ndarray:
    """The rows in which the two best scores differ by no more than rounding."""
    if scores.shape[1] == 1:
        return np.zeros(len(scores), bool)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] <= ROUNDING * (1 + abs(best[:, -1]))


def serialise(policy: PolicyDescription) -> tuple[bytes, int]:
    """The policy as the bytes of an ONNX file, and the number of its nodes."""
    graph = GraphBuilder()
    helper = graph.onnx.helper
    example = np.zeros((1, *policy.spaces.obs_shape), np.float32)
    choices = policy.core_output(example).shape[1]
    for name, result in add_policy(graph, policy, choices).items():
        graph.add("Identity", result, output=name)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "policy", _inputs(graph, policy), _outputs(graph, policy), graph.constants
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="policy-inertia",
        producer_version=versions()["policy-inertia"],
    )
    helper.set_model_props(model, _metadata(policy, graph.onnx.__version__))
    graph.onnx.checker.check_model(model)
    return model.SerializeToString(), len(graph.nodes)


def _inputs(graph: GraphBuilder, policy: PolicyDescription) -> list[Any]:
    """The inputs of the graph: the observation, the policy's memory, and a dial's price."""
    obs_type = np.int64 if policy.spaces.n_states is not None else np.float32
    inputs = [graph.tensor(OBSERVATION, obs_type, ["batch", *policy.spaces.obs_shape])]
    for field in policy.memory.fields:
        example = field.initial(1)
        inputs.append(graph.tensor(field.name, example.dtype, ["batch", *example.shape[1:]]))
    if policy.controller is not None and policy.controller.price_input:
        inputs.append(graph.tensor(PRICE, np.float32, ["prices"]))
    return inputs


def _outputs(graph: GraphBuilder, policy: PolicyDescription) -> list[Any]:
    """The outputs of the graph; the action is the new value of the previous action."""
    outputs = [
        graph.tensor("action", np.int64, ["batch"]),
        graph.tensor("probabilities", np.float32, ["batch", policy.spaces.discrete.n]),
        graph.tensor("inertia", np.float32, ["batch"]),
    ]
    for field in policy.memory.fields:
        if field.name != PREVIOUS_ACTION:
            example = field.initial(1)
            name, shape = f"next_{field.name}", ["batch", *example.shape[1:]]
            outputs.append(graph.tensor(name, example.dtype, shape))
    return outputs


def _metadata(policy: PolicyDescription, onnx_version: str) -> dict[str, str]:
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
        "task": str(policy.about.get("task", "")),
        "method": str(policy.about.get("method", "")),
        "first_action": str(policy.spaces.discrete.first),
        "n_actions": str(policy.spaces.discrete.n),
    }
