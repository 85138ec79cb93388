"""A policy as one ONNX file: observation and previous action in, the action out.

The graph is built by hand from the model's layers, with operators of opset 13 alone, which
onnxruntime has run since 1.6 and most other runtimes do. It is compared with the policy itself
before the file is written.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.algorithms.losses import LOG_ZERO
from policy_inertia.errors import InputError
from policy_inertia.interop.description import (
    Controller,
    Model,
    Prices,
    model_of,
    model_of_core,
)
from policy_inertia.interop.onnx_in import session
from policy_inertia.machine import versions
from policy_inertia.networks.layers import (
    Activation,
    ChannelsFirst,
    ChannelsLast,
    Conv,
    Flatten,
    Layers,
    Linear,
    OneHot,
    Rescale,
)
from policy_inertia.policies.cores import GREEDY, Core
from policy_inertia.policies.hysteresis import apply_hysteresis
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import example_observations, gym_space
from policy_inertia.storage import FORMAT, write_file

OPSET, IR = 13, 7
CHECKED = 1_000  # observations that the file is compared on; fewer where they are images
TOLERANCE = 1e-4  # of probabilities and inertia, in absolute terms


@dataclass(frozen=True)
class Exported:
    """What was written, and how far it is from the original on random inputs."""

    path: Path
    nodes: int
    checked: int
    difference: float  # the largest, of a probability or of the inertia
    ties: int  # actions that differ, all between actions as good as each other

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.nodes} nodes, equal to the policy on {self.checked:,} random "
            f"inputs within {self.difference:.1e} ({self.ties} ties broken otherwise)"
        )


def export(policy: Policy | Core, path: str | os.PathLike[str]) -> Exported:
    """Write one of our policies, or a core whose network is known, as an ONNX file.

    Inputs: `observation` (float32 of the env's shape, int64 where it is Discrete) and
    `previous_action` (int64; -1 at the start of an episode); of a dial also `lambda` (float32, one
    price for all rows or one for each), which may be left out: it is then what the dial was set to.
    Outputs: `action` (int64, the most probable one, behind the hysteresis if there is one),
    `probabilities` and `inertia`. The batch is free. Actions are counted from 0: where the env's
    begin elsewhere, add `first_action` of the file's metadata.
    """
    path = Path(path)
    if path.suffix != ".onnx":
        raise InputError(f"{path} ends in '{path.suffix}': an ONNX file ends in .onnx")
    model = model_of_core(policy) if isinstance(policy, Core) else model_of(policy)
    data, nodes = serialise(model)
    checked = CHECKED if np.prod(model.spaces.obs_shape) < 5_000 else CHECKED // 20
    difference, ties = compare(policy, model, path, data, checked)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, data)
    return Exported(path, nodes, checked, difference, ties)


def compare(
    policy: Policy | Core, model: Model, path: Path, data: bytes, n: int
) -> tuple[float, int]:
    """The file beside the original: the largest difference, and actions that differ at ties.

    Where two actions are as good as each other, rounding decides; elsewhere nothing may differ.
    """
    space = policy.space if isinstance(policy, Core) else gym_space(policy.spaces)
    obs = example_observations(space, n)
    prev = np.random.default_rng(1).integers(-1, policy.spaces.discrete.n, n)
    feed: dict[str, np.ndarray] = {}
    if isinstance(policy, Core):
        acting = policy.acting(obs)
    else:
        turned = policy
        if model.controller is not None and model.controller.prices is not None:
            feed["lambda"] = _some_prices(model.controller.prices, n)
            turned = policy.at(feed["lambda"])
        acting = turned.acting(policy.spaces.encode(obs), prev)
    action = acting.policy.mode()
    near = nearly_tied(model.scores(obs)) | nearly_tied(acting.scores)
    if model.controller is not None and model.controller.act == "gate":
        repeat, follow = prev, acting.core.mode()
        q_repeat, q_follow = (acting.scores[np.arange(n), a] for a in (repeat, follow))
        near |= (repeat != follow) & (abs(q_repeat - q_follow) <= 1e-5 * (1 + abs(q_follow)))
    if policy.hysteresis is not None:
        gain = acting.scores[np.arange(n), action] - acting.scores[np.arange(n), prev]
        near |= abs(gain - policy.hysteresis) <= 1e-5 * (1 + abs(acting.scores).max(1))
        action = apply_hysteresis(acting.scores, prev, action, policy.hysteresis)
    feed["observation"] = obs.astype(np.int64 if policy.spaces.n_states is not None else np.float32)
    feed["previous_action"] = prev
    action_there, pi, mu = session(path, data).run(["action", "probabilities", "inertia"], feed)
    differ = action != action_there
    gaps = np.maximum(abs(np.exp(acting.policy.log_pi) - pi).max(1), abs(acting.mu - mu))
    difference = float(gaps[~near].max(initial=0))
    wrong = int((differ & ~near).sum())
    if not difference <= TOLERANCE or wrong:
        raise InputError(
            f"the ONNX graph differs from {policy} by {difference:.1e} and in {wrong} of {n} "
            "actions: nothing was written, so please report it"
        )
    return difference, int(differ.sum())


def _some_prices(prices: Prices, n: int) -> np.ndarray:
    """Prices over a dial's whole range, and what it is set to."""
    shares = [0.0, 0.003, 0.1, 0.5, 2.0]
    spread = np.random.default_rng(2).choice(shares, n) * prices.largest
    return np.where(np.arange(n) % 4 == 0, prices.price, spread).astype(np.float32)


def nearly_tied(scores: np.ndarray) -> np.ndarray:
    """The rows in which the two best scores differ by no more than rounding."""
    if scores.shape[1] == 1:
        return np.zeros(len(scores), bool)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] <= 1e-5 * (1 + abs(best[:, -1]))


def serialise(model: Model) -> tuple[bytes, int]:
    """The model as the bytes of an ONNX file, and how many nodes it has."""
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError:
        raise InputError("writing an ONNX file needs onnx: pip install policy-inertia[onnx]") from (
            None
        )
    graph = _Graph()
    spaces, n_actions = model.spaces, model.spaces.discrete.n
    discrete = spaces.n_states is not None
    scores = graph.network(model.core, "observation")
    log_core, scores = graph.log_policy(model, scores)

    column = graph.add("Unsqueeze", "previous_action", graph.integers([1]))
    repeat = graph.add("Equal", column, graph.integers([range(n_actions)]))
    none = graph.add("Less", column, graph.integers([[0]]))
    log_pi = log_core
    dial = model.controller.prices if model.controller is not None else None
    if model.controller is not None:
        extra, relative = [graph.as_float(repeat)], None
        if dial is not None:
            seen, relative = graph.prices(dial)
            extra.append(seen)
        found = []
        for eyes, layers in model.controller.networks:
            joined = graph.add("Concat", graph.network(eyes, "observation"), *extra, axis=1)
            found.append(graph.network(layers, joined))
        x = graph.add("Min", *found)
        if model.controller.act == "mixture":
            log_pi = scores = graph.log_mixture(x, model.controller.mu0, log_core, repeat, none)
            mu = graph.inertia(x, model.controller.mu0, none)
        else:
            relative = relative or graph.number(model.controller.fixed)
            scores = graph.add("Add", x, graph.add("Mul", relative, extra[0]))
            log_pi, mu = graph.dial(model.controller, scores, log_core, repeat, none, n_actions)
    else:
        zero = graph.add("Cast", "previous_action", to=TensorProto.FLOAT)
        mu = graph.add("Mul", zero, graph.number(0.0))

    choice = graph.add("ArgMax", log_pi, axis=1, keepdims=1)
    if model.hysteresis is not None:
        choice = graph.hold(scores, choice, column, repeat, none, model.hysteresis, n_actions)
    graph.add("Squeeze", choice, graph.integers([1]), output="action")
    graph.add("Exp", log_pi, output="probabilities")
    graph.add("Identity", mu, output="inertia")

    observation = TensorProto.INT64 if discrete else TensorProto.FLOAT
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [
                helper.make_tensor_value_info(
                    "observation", observation, ["batch", *spaces.obs_shape]
                ),
                helper.make_tensor_value_info("previous_action", TensorProto.INT64, ["batch"]),
                *(
                    [helper.make_tensor_value_info("lambda", TensorProto.FLOAT, ["prices"])]
                    if dial is not None
                    else []
                ),
            ],
            [
                helper.make_tensor_value_info("action", TensorProto.INT64, ["batch"]),
                helper.make_tensor_value_info(
                    "probabilities", TensorProto.FLOAT, ["batch", n_actions]
                ),
                helper.make_tensor_value_info("inertia", TensorProto.FLOAT, ["batch"]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="policy-inertia",
        producer_version=versions()["policy-inertia"],
    )
    about = {
        "format": FORMAT,
        **model.about,
        "hysteresis": model.hysteresis,
        "price": dial and dial.price,
        "largest_price": dial and dial.largest,
        "spaces": spaces.to_dict(),
        "versions": versions() | {"onnx": onnx.__version__},
    }
    helper.set_model_props(
        proto,
        {
            "policy_inertia": json.dumps(about),
            "task": str(model.about.get("task", "")),
            "method": str(model.about.get("method", "")),
            "first_action": str(spaces.discrete.first),
            "n_actions": str(n_actions),
        },
    )
    onnx.checker.check_model(proto)
    return proto.SerializeToString(), len(graph.nodes)


@dataclass
class _Graph:
    """Nodes and constants in the making; every method returns the name of what it computes."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        output = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value: Any, dtype: Any = np.float32, name: str | None = None) -> str:
        from onnx import numpy_helper

        name = name or f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(np.asarray(value, dtype))
        array = array.reshape(np.shape(value))  # ascontiguousarray gives a scalar an axis
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def number(self, value: float) -> str:
        return self.constant(value)

    def integers(self, values: Any) -> str:
        return self.constant([list(v) if isinstance(v, range) else v for v in values], np.int64)

    def network(self, layers: Layers, x: str) -> str:
        """A network, layer by layer; see `network.run`."""
        for layer in layers:
            match layer:
                case Linear():
                    x = self.add("Gemm", x, self.constant(layer.w), self.constant(layer.b))
                case Activation():
                    x = self.activation(layer.name, x)
                case Flatten():
                    x = self.add("Flatten", x, axis=1)
                case ChannelsFirst():
                    x = self.add("Transpose", x, perm=[0, 3, 1, 2])
                case ChannelsLast():
                    x = self.add("Transpose", x, perm=[0, 2, 3, 1])
                case Conv():
                    strides = [layer.stride, layer.stride]
                    w, b = self.constant(layer.w), self.constant(layer.b)
                    x = self.add("Conv", x, w, b, strides=strides)
                case Rescale():
                    x = self.add("Sub", x, self.constant(layer.mean))
                    x = self.add("Div", x, self.constant(layer.std))
                    if layer.clip is not None:
                        low, high = self.number(-layer.clip), self.number(layer.clip)
                        x = self.add("Clip", x, low, high)
                case OneHot():
                    places = self.integers([range(layer.first, layer.first + layer.n)])
                    column = self.add("Unsqueeze", x, self.integers([1]))
                    x = self.as_float(self.add("Equal", column, places))
        return x

    def as_float(self, x: str) -> str:
        return self.add("Cast", x, to=1)  # TensorProto.FLOAT

    def activation(self, name: str, x: str) -> str:
        match name:
            case "ReLU":
                return self.add("Relu", x)
            case "SiLU":
                return self.add("Mul", x, self.add("Sigmoid", x))
            case "ELU":
                return self.add("Elu", x, alpha=1.0)
            case "LeakyReLU":
                return self.add("LeakyRelu", x, alpha=0.01)
        return self.add(name, x)  # Tanh and Sigmoid are called the same

    def log_policy(self, model: Model, x: str) -> tuple[str, str]:
        """The core's log-probabilities, and the scores that hysteresis compares."""
        scores = x
        if model.kind == "logits":
            scores = self.log_softmax(x, model.temperature or 1.0)
        if model.temperature == GREEDY:
            best = self.add("ArgMax", scores, axis=1, keepdims=1)
            others = self.add("Equal", best, self.integers([range(model.spaces.discrete.n)]))
            others = self.as_float(self.add("Not", others))
            return self.add("Mul", others, self.number(LOG_ZERO)), scores
        log_pi = scores if model.kind == "logits" else self.log_softmax(x, model.temperature)
        return log_pi, scores

    def log_softmax(self, x: str, temperature: float) -> str:
        if temperature != 1:
            x = self.add("Div", x, self.number(temperature))
        return self.add("LogSoftmax", x, axis=1)

    def log_add_exp(self, a: str, b: str) -> str:
        apart = self.add("Neg", self.add("Abs", self.add("Sub", a, b)))
        return self.add("Add", self.add("Max", a, b), self.add("Softplus", apart))

    def log_mixture(self, x: str, mu0: float, log_core: str, repeat: str, none: str) -> str:
        """`losses.log_mixture`, Equation (mixed_policy), with the same logarithms."""
        keep, twice = self.number(math.log1p(-mu0)), self.add("Add", x, x)
        release = self.add("Sub", keep, self.add("Softplus", twice))
        log_mu = self.add("Sub", keep, self.add("Softplus", self.add("Neg", twice)))
        if mu0 > 0:
            log_mu = self.log_add_exp(self.number(math.log(mu0)), log_mu)
        follow = self.add("Add", release, log_core)
        mixed = self.add("Where", repeat, self.log_add_exp(log_mu, follow), follow)
        return self.add("Where", none, log_core, mixed)

    def inertia(self, x: str, mu0: float, none: str) -> str:
        """`losses.inertia`, and 0 without a previous action."""
        share = self.add("Add", self.add("Tanh", x), self.number(1.0))
        share = self.add("Mul", share, self.number((1 - mu0) / 2))
        mu = self.add("Where", none, self.number(0.0), self.add("Add", share, self.number(mu0)))
        return self.add("Squeeze", mu, self.integers([1]))

    def prices(self, dial: Prices) -> tuple[str, str]:
        """`prices.features` of the input lambda, and lambda in the unit of its values: columns.

        An input with a value of its own may be left out; one price serves a whole batch.
        """
        default = self.constant([dial.price], name="lambda")
        rows = self.add("Expand", default, self.add("Shape", "previous_action"))
        price = self.add("Unsqueeze", rows, self.integers([1]))
        # before the first reward the largest price is 0
        largest = max(dial.largest, float(np.finfo(np.float32).tiny))
        x = self.add("Min", self.add("Div", price, self.number(largest)), self.number(1.0))
        logarithm = self.add("Mul", x, self.number(100.0))
        logarithm = self.add("Log", self.add("Add", logarithm, self.number(1.0)))
        logarithm = self.add("Div", logarithm, self.number(math.log(101.0)))
        seen = self.add("Concat", logarithm, self.add("Sqrt", x), x, axis=1)
        unit = self.add("Add", self.add("Mul", x, self.number(dial.unit)), self.number(1.0))
        return seen, self.add("Div", price, unit)

    def dial(
        self, controller: Controller, q: str, log_core: str, repeat: str, none: str, n_actions: int
    ) -> tuple[str, str]:
        """The two ways in which a dial acts by its critic: log-probabilities and mu."""
        act, asked = controller.act, q
        if act == "gate":
            asked = self.add("Where", none, q, log_core) if controller.begins else log_core
        best = self.add("ArgMax", asked, axis=1, keepdims=1)
        chosen = self.as_float(self.add("Equal", best, self.integers([range(n_actions)])))
        last = self.as_float(repeat)
        if act == "gate":  # `losses.gate`
            apart = self.add("Sub", last, chosen)
            gain = self.add("Mul", q, apart)
            gain = self.add("ReduceSum", gain, self.integers([1]), keepdims=1)
            stays = self.add("GreaterOrEqual", gain, self.number(0.0))
            mu = self.as_float(self.add("And", stays, self.add("Not", none)))
            chosen = self.add("Add", chosen, self.add("Mul", mu, apart))
        else:
            both = self.add("Mul", last, chosen)
            mu = self.add("ReduceSum", both, self.integers([1]), keepdims=1)
        others = self.add("Sub", self.number(1.0), chosen)
        log_pi = self.add("Mul", others, self.number(LOG_ZERO))
        return log_pi, self.add("Squeeze", mu, self.integers([1]))

    def hold(
        self,
        scores: str,
        choice: str,
        previous: str,
        repeat: str,
        none: str,
        tau: float,
        n_actions: int,
    ) -> str:
        """`policy.apply_hysteresis`: the choice where it beats the previous action by tau."""
        chosen = self.add("Equal", choice, self.integers([range(n_actions)]))
        marked = self.add("Sub", self.as_float(chosen), self.as_float(repeat))
        gain = self.add("Mul", scores, marked)
        gain = self.add("ReduceSum", gain, self.integers([1]), keepdims=1)
        better = self.add("GreaterOrEqual", gain, self.number(tau))
        return self.add("Where", self.add("Or", none, better), choice, previous)
