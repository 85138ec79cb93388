"""Controllers of continuous actions as ONNX nodes, with one row for each rule.

The networks are float32; everything behind them is float64. Actions are scaled to [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.interop.description import ControllerDescription
from policy_inertia.interop.onnx_arrays import GraphArray
from policy_inertia.interop.onnx_form import OBSERVATION
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_layers import add_network


def add_controller(
    graph: GraphBuilder, controller: ControllerDescription, core: Any, previous: Any, start: Any
) -> Any:
    """The action of a controller around its core.

    Args:
        graph: Where nodes are added.
        controller: The controller.
        core: The core's actions, scaled.
        previous: The previous actions, scaled; NaN at the start of an episode.
        start: Which rows start an episode.

    Raises:
        InputError: Nobody has written this rule.
    """
    if controller.rule not in RULES or controller.price_input:
        raise InputError(
            f"the controller's rule '{controller.rule}' cannot be written for continuous actions, "
            "or its price cannot be an input: export the policy's core, or without --dial"
        )
    return RULES[controller.rule](graph, controller, core, previous, start)


def _output(
    graph: GraphBuilder, controller: ControllerDescription, previous: Any, start: Any, *more: Any
) -> Any:
    """The output of the controller's network; it sees the last action and `more`."""
    ((features, head),) = controller.networks
    known = np.where(start, 0.0, 1.0)
    parts = [np.where(start, 0.0, previous), known, *(x + 0 * known for x in more)]
    inputs = [graph.cast(part.name, np.float32) for part in parts]
    encoded = add_network(graph, features, OBSERVATION)
    x = add_network(graph, head, graph.add("Concat", encoded, *inputs, axis=1))
    return GraphArray(graph, graph.cast(x, np.float64), head[-1].b.shape[0])  # type: ignore[union-attr]


def _tanh(graph: GraphBuilder, x: Any) -> Any:
    return GraphArray(graph, graph.add("Tanh", x.name), x.width)


def _gate(
    graph: GraphBuilder, controller: ControllerDescription, core: Any, previous: Any, start: Any
) -> Any:
    """Repeat where mu is above one half, as `Mixture.mode`."""
    mu0 = controller.numbers["mu0"]
    x = _output(graph, controller, previous, start)
    mu = np.where(start, 0.0, mu0 + (1 - mu0) * (_tanh(graph, x) + 1) / 2)
    return np.where(mu > 0.5, np.where(start, 0.0, previous), core)


def _priced(graph: GraphBuilder, controller: ControllerDescription, *rows: Any) -> Any:
    """The output of a dial's network at the price that is set."""
    core, previous, start = rows
    numbers = controller.numbers
    features = np.array([[numbers[f"price_feature_{i}"] for i in range(3)]])
    return _output(graph, controller, previous, start, core, features)


def _shared(controller: ControllerDescription, core: Any, action: Any) -> Any:
    """The controller's action, or a part of its way from the core's."""
    share = controller.numbers["share"]
    return action if share == 1 else core + share * (action - core)


def _blend(
    graph: GraphBuilder, controller: ControllerDescription, core: Any, previous: Any, start: Any
) -> Any:
    """Go a part of the way from the last action to the core's, as `box_losses.blend`."""
    mu = np.clip(_priced(graph, controller, core, previous, start), 0, 1)
    last = np.where(start, core, previous)
    return _shared(controller, core, np.where(np.greater(1.0, mu), core + mu * (last - core), last))


def _free(
    graph: GraphBuilder, controller: ControllerDescription, core: Any, previous: Any, start: Any
) -> Any:
    """Act freely."""
    x = _priced(graph, controller, core, previous, start)
    return _shared(controller, core, _tanh(graph, x))


RULES: dict[str, Callable[..., Any]] = {"box gate": _gate, "box blend": _blend, "box free": _free}
"""By the name that a controller gives its rule."""
