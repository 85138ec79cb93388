"""The decisions of a policy as ONNX nodes: core and controllers; the filters are `onnx_filters`.

`RULES` has one row for each kind of controller. The tests hold every row against the NumPy function
that it repeats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from policy_inertia.actions.masks import FORBIDDEN
from policy_inertia.algorithms.losses import IMPOSSIBLE, LOG_ZERO
from policy_inertia.errors import InputError
from policy_inertia.interop.description import ControllerDescription, PolicyDescription
from policy_inertia.interop.onnx_core import add_core
from policy_inertia.interop.onnx_filters import Inputs, any_of, filter_nodes
from policy_inertia.interop.onnx_form import FEATURES, MASKS, OBSERVATION
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_layers import add_network, twin_values
from policy_inertia.interop.onnx_tokens import plan_values
from policy_inertia.policies.core_outputs import GREEDY
from policy_inertia.policies.memory import PREVIOUS_ACTION

PRICE = "lambda"
"""The name of an input."""


class Outputs(NamedTuple):
    """Names of a policy's outputs, as in `algorithms.interface.Acting`."""

    log_pi: str
    mu: str
    scores: str


Rule = Callable[[GraphBuilder, ControllerDescription, Inputs], Outputs]


def add_policy(graph: GraphBuilder, policy: PolicyDescription, choices: int) -> dict[str, str]:
    """Add a whole policy.

    Returns:
        The names of its results by output: "action", "probabilities", "inertia", and
        "next_<field>" for each field of its memory other than the previous action.
    """
    allowed = allowed_rows(graph, MASKS) if policy.masked else ""
    previous = graph.column(PREVIOUS_ACTION)
    start = graph.add("Less", previous, graph.integers([[0]]))
    values, remembered = add_core(graph, policy, start)
    log_core, scores = add_core_head(graph, policy, values, choices, allowed)
    repeat = graph.equals(previous, choices)
    inputs = Inputs(
        log_core,
        previous,
        repeat,
        start,
        choices,
        (*preferences(graph, policy.controller, scores, choices, allowed), graph.as_float(repeat)),
        allowed,
        any_of(graph, graph.add("And", repeat, graph.add("Not", allowed))) if allowed else "",
    )
    if policy.controller is None:
        as_float = graph.as_float(PREVIOUS_ACTION)
        mu = graph.add("Mul", as_float, graph.constant(0.0))  # zeros, one for each row
        outputs = Outputs(log_core, mu, scores)
    else:
        outputs = _rule(policy.controller)(graph, policy.controller, inputs)
    choice = graph.best(outputs.log_pi)
    fields = {f"next_{name}": value for name, value in remembered.items()}
    for rule in policy.filters:
        choice, own = filter_nodes(rule)(graph, rule, inputs, choice, outputs.scores)
        fields |= {f"next_{name}": graph.flat(value) for name, value in own.items()}
    pi = graph.add("Exp", outputs.log_pi)
    actions = policy.spaces.discrete.n
    if choices != actions:  # sum over the numbers of steps to hold an action
        pi = graph.add("Reshape", pi, graph.integers([-1, actions, choices // actions]))
        pi = graph.add("ReduceSum", pi, graph.integers([2]), keepdims=0)
    return {"action": graph.flat(choice), "probabilities": pi, "inertia": outputs.mu, **fields}


def allowed_rows(graph: GraphBuilder, masks: str) -> str:
    """`masks.read_masks`: where a row allows nothing, all is allowed."""
    return graph.add("Or", masks, graph.add("Not", any_of(graph, masks)))


def forbid(graph: GraphBuilder, values: str, allowed: str) -> str:
    """`masks.forbid`; the values themselves where there is no mask."""
    return graph.add("Where", allowed, values, graph.constant(FORBIDDEN)) if allowed else values


def add_core_head(
    graph: GraphBuilder, policy: PolicyDescription, values: str, choices: int, allowed: str
) -> tuple[str, str]:
    """The core's log-probabilities, and the scores that hysteresis compares; see `core_outputs`.

    Args:
        graph: Where nodes are added.
        policy: What the core returns, and its temperature.
        values: (B, C) what its network returned: for all actions, or for those of one head.
        choices: C, the number of these actions.
        allowed: (B, C) what an action mask allows; empty without masks.
    """

    def softmax() -> str:
        scaled = graph.divided(values, policy.temperature or 1.0)
        return graph.log_softmax(forbid(graph, scaled, allowed), 1.0)

    scores = softmax() if policy.kind == "logits" else forbid(graph, values, allowed)
    if policy.temperature == GREEDY:
        certain = _log_certain(graph, graph.one_hot(graph.best(scores), choices))
        return forbid(graph, certain, allowed), scores
    return (scores if policy.kind == "logits" else softmax()), scores


def preferences(
    graph: GraphBuilder,
    controller: ControllerDescription | None,
    scores: str,
    choices: int,
    allowed: str,
) -> tuple[str, ...]:
    """`spaces_with_core.preferences`; nothing where no network sees them."""
    if controller is None or not controller.core_unit:
        return ()
    best = graph.one_hot(graph.best(scores), choices)
    gap = graph.add("Sub", graph.row_sum(graph.add("Mul", scores, best)), scores)
    gap = graph.add("Div", gap, graph.constant(controller.core_unit))
    seen = graph.add("Log", graph.add("Add", gap, graph.constant(1.0)))
    return (graph.add("Where", allowed, seen, graph.constant(-1.0)) if allowed else seen,)


def _log_certain(graph: GraphBuilder, chosen: str) -> str:
    """`losses.log_certain`, from the one-hot of the action."""
    others = graph.add("Sub", graph.constant(1.0), chosen)
    return graph.add("Mul", others, graph.constant(LOG_ZERO))


# --- controllers --------------------------------------------------------------------------------


def network_outputs(
    graph: GraphBuilder, controller: ControllerDescription, *extra: str
) -> list[str]:
    """The outputs of a controller's networks; `extra` inputs join behind the features."""
    outputs = []
    for features, head in controller.networks:
        encoded = add_network(graph, features, _observed(controller))
        joined = graph.add("Concat", encoded, *extra, axis=1)
        outputs.append(add_network(graph, head, joined))
    return outputs


def joined_outputs(graph: GraphBuilder, controller: ControllerDescription, *extra: str) -> str:
    """The values of twin critics, joined as in learning."""
    return twin_values(graph, network_outputs(graph, controller, *extra), controller.mean)


def _observed(controller: ControllerDescription) -> str:
    """The name of what a controller's networks see."""
    return FEATURES if controller.on_features else OBSERVATION


def mixture(graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs) -> Outputs:
    """`losses.log_mixture`, Equation (mixed_policy), and `losses.inertia`."""
    (x,) = network_outputs(graph, controller, *inputs.seen)
    return mixed_policy(graph, controller.numbers["mu0"], x, inputs)


def mixed_policy(graph: GraphBuilder, mu0: float, x: str, inputs: Inputs) -> Outputs:
    """The mixture from the pre-activations `x` (B, 1) of mu."""
    start = inputs.start  # also where there is nothing to repeat
    if inputs.forced:
        start = graph.add("Or", start, inputs.forced)
    log_keep, twice = graph.constant(math.log1p(-mu0)), graph.add("Add", x, x)
    log_release = graph.add("Sub", log_keep, graph.add("Softplus", twice))
    log_mu = graph.add("Sub", log_keep, graph.add("Softplus", graph.add("Neg", twice)))
    if mu0 > 0:
        log_mu = graph.log_add_exp(graph.constant(math.log(mu0)), log_mu)
    follow = graph.add("Add", log_release, inputs.log_core)
    mixed = graph.add("Where", inputs.repeat, graph.log_add_exp(log_mu, follow), follow)
    log_pi = graph.add("Where", start, inputs.log_core, mixed)

    share = graph.add("Add", graph.add("Tanh", x), graph.constant(1.0))
    share = graph.add("Mul", share, graph.constant((1 - mu0) / 2))
    mu = graph.add("Add", share, graph.constant(mu0))
    mu = graph.add("Where", start, graph.constant(0.0), mu)
    return Outputs(log_pi, graph.flat(mu), log_pi)


def gate(graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs) -> Outputs:
    """`controllers.gate.gate_choice`: repeat, or follow the core."""
    q, last = _priced_values(graph, controller, inputs)
    return repeat_or_follow(graph, controller, inputs, q, last)


def repeat_or_follow(
    graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs, q: str, last: str
) -> Outputs:
    first = inputs.log_core
    if controller.numbers.get("critics_begin"):
        first = graph.add("Where", inputs.start, q, inputs.log_core)
    chosen = graph.one_hot(graph.best(first), inputs.choices)
    change = graph.add("Sub", last, chosen)
    gain = graph.row_sum(graph.add("Mul", q, change))
    stays = graph.add("GreaterOrEqual", gain, graph.constant(0.0))
    mu = graph.as_float(graph.add("And", stays, graph.add("Not", inputs.start)))
    chosen = graph.add("Add", chosen, graph.add("Mul", mu, change))
    return Outputs(_log_certain(graph, chosen), graph.flat(mu), q)


def free(graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs) -> Outputs:
    """`controllers.dial.free_choice`: the best action after the price is paid."""
    q, last = _priced_values(graph, controller, inputs)
    return _best(graph, inputs, q, last)


def _best(graph: GraphBuilder, inputs: Inputs, q: str, last: str) -> Outputs:
    chosen = graph.one_hot(graph.best(q), inputs.choices)
    mu = graph.row_sum(graph.add("Mul", last, chosen))
    return Outputs(_log_certain(graph, chosen), graph.flat(mu), q)


def _priced_values(
    graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs
) -> tuple[str, str]:
    """`prices.net` and `prices.favour` of the twins' values, and a_prev's one-hot."""
    last = graph.as_float(inputs.repeat)
    if not controller.has_dial:
        price = graph.constant(controller.numbers["fixed_price"])
        u = joined_outputs(graph, controller, *inputs.seen)
        q = _net(graph, controller, inputs, u, price, last)
        return forbid(graph, q, inputs.allowed), last
    features, cost, margin = _price_inputs(graph, controller)
    u = joined_outputs(graph, controller, *inputs.seen, features)
    q = _net(graph, controller, inputs, u, cost, last)
    core = graph.one_hot(graph.best(inputs.log_core), inputs.choices)
    q = graph.add("Add", q, graph.add("Mul", margin, core))
    return forbid(graph, q, inputs.allowed), last


def _net(
    graph: GraphBuilder,
    controller: ControllerDescription,
    inputs: Inputs,
    u: str,
    price: str,
    last: str,
) -> str:
    """`prices.net`."""
    if controller.costs is None:
        return graph.add("Add", u, graph.add("Mul", price, last))
    table = np.reshape(controller.costs, (inputs.choices, inputs.choices))
    costs = graph.add("MatMul", last, graph.constant(table))
    return graph.add("Sub", u, graph.add("Mul", price, costs))


def priced_inputs(
    graph: GraphBuilder, controller: ControllerDescription, rows: str
) -> tuple[tuple[str, ...], str, str]:
    """What networks see of the price, what a switch costs, and the margin; empty without a dial.

    `rows` is a result with one number for each env.
    """
    if not controller.has_dial:
        return (), graph.constant(controller.numbers["fixed_price"]), ""
    features, cost, margin = _price_inputs(graph, controller, rows)
    return (features,), cost, margin


def _price_inputs(
    graph: GraphBuilder, controller: ControllerDescription, like: str = PREVIOUS_ACTION
) -> tuple[str, str, str]:
    """`prices.features` of lambda, and `prices.cost_and_margin`, as columns.

    One price serves a whole batch. Lambda is an input without a default, or a constant: of an input
    with a default, onnxruntime warns at every start.
    """
    numbers = controller.numbers
    given = PRICE if controller.price_input else graph.constant([numbers["price"]])
    rows = graph.add("Expand", given, graph.add("Shape", like))
    price, zero = graph.column(rows), graph.constant(0.0)
    cost = graph.add("Max", price, zero)
    # before the first reward the largest price is 0
    largest = max(numbers["largest_price"], float(np.finfo(np.float32).tiny))
    x = graph.add("Min", graph.add("Div", cost, graph.constant(largest)), graph.constant(1.0))
    logarithm = graph.add("Mul", x, graph.constant(100.0))
    logarithm = graph.add("Log", graph.add("Add", logarithm, graph.constant(1.0)))
    logarithm = graph.add("Div", logarithm, graph.constant(math.log(101.0)))
    features = graph.add("Concat", logarithm, graph.add("Sqrt", x), x, axis=1)
    margin = graph.add("Max", graph.add("Neg", price), zero)
    core_alone = graph.add("GreaterOrEqual", margin, graph.constant(largest))
    margin = graph.add("Where", core_alone, graph.constant(-IMPOSSIBLE), margin)
    return features, cost, margin


def _plan_values(graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs) -> str:
    names = (_observed(controller), inputs.repeat, inputs.start)
    q = plan_values(graph, controller, *names, inputs.choices, inputs.seen, inputs.forced)
    return forbid(graph, q, inputs.allowed)


def plan(graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs) -> Outputs:
    """`controllers.token_planner.TokenPlanner` with the best action."""
    q = _plan_values(graph, controller, inputs)
    return _best(graph, inputs, q, graph.as_float(inputs.repeat))


def plan_gate(graph: GraphBuilder, controller: ControllerDescription, inputs: Inputs) -> Outputs:
    """`controllers.token_planner.TokenPlanner` as a gate: repeat, or follow the core."""
    q = _plan_values(graph, controller, inputs)
    return repeat_or_follow(graph, controller, inputs, q, graph.as_float(inputs.repeat))


RULES: dict[str, Rule] = {
    "mixture": mixture,
    "gate": gate,
    "free": free,
    "plan": plan,
    "plan-gate": plan_gate,
}
"""How a controller's networks become a policy, by `ControllerParts.rule`."""


def _rule(controller: ControllerDescription) -> Rule:
    if controller.rule not in RULES:
        raise InputError(
            f"a controller with the rule '{controller.rule}' cannot be exported: export its core "
            "instead"
        )
    return RULES[controller.rule]
