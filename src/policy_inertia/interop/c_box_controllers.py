"""Controllers of continuous actions in C, with one row in `RULES` for each rule.

Networks are float, everything behind them is double, as in Python. Actions are scaled to [-1, 1].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policy_inertia.algorithms.controllers import prices
from policy_inertia.errors import InputError
from policy_inertia.interop.c_code import CodeBuilder, StateField, literal
from policy_inertia.interop.c_layers import add_network
from policy_inertia.interop.description import ControllerDescription, PolicyDescription

_PRICE = """
/* the price as a share of the largest one that was learned */
static double policy_price_part(const policy_state *state)
{
    return state->price / $largest;
}
"""

_SEES_PRICE = """
    const double part = policy_within(policy_price_part(state), 0.0, 1.0);
    for (int i = 0; i < $d; i++) {
        x[$first + $d + 1 + i] = (float)action[i];
    }
    x[$inputs - 3] = (float)(log1p(100.0 * part) * $scale);
    x[$inputs - 2] = (float)sqrt(part);
    x[$inputs - 1] = (float)part;
"""

_CONTROLLER = """
/* from the core's action to the one to take */
static void policy_controller(const policy_state *state, $observation, double *action)
{
    float x[$inputs], y[$outputs];
    double last[$d];
    policy_features(observation, x);
    for (int i = 0; i < $d; i++) {
        last[i] = state->has_previous ? policy_scaled(state->previous_action[i], i) : action[i];
        x[$first + i] = state->has_previous ? (float)last[i] : 0.0f;
    }
    x[$first + $d] = state->has_previous ? 1.0f : 0.0f;
    $price
    policy_controller_network(x, y);
    $share
    for (int i = 0; i < $d; i++) {
        $rule
    }
}
"""

_SHARE = """
    /* below a price of 0 it goes over to the core */
    const double share = policy_within(1.0 + policy_price_part(state), 0.0, 1.0);
"""

_GATE = """
        const double mu = $mu0 + (1.0 - $mu0) * 0.5 * (tanh((double)y[$gate]) + 1.0);
        action[i] = state->has_previous && mu > 0.5 ? last[i] : action[i];
"""

_BLEND = """
        const double mu = policy_within((double)y[i], 0.0, 1.0);
        const double taken = mu < 1.0 ? action[i] + mu * (last[i] - action[i]) : last[i];
        action[i] = share < 1.0 ? action[i] + share * (taken - action[i]) : taken;
"""

_FREE = """
        const double taken = isnan(y[i]) ? last[i] : tanh((double)y[i]);
        action[i] = share < 1.0 ? action[i] + share * (taken - action[i]) : taken;
"""


class Rule(NamedTuple):
    """How a controller's network becomes an action."""

    text: str
    """The statements for the number `i` of an action."""
    priced: bool = True
    """Whether it is a dial."""


RULES: dict[str, Rule] = {
    "box gate": Rule(_GATE, priced=False),
    "box blend": Rule(_BLEND),
    "box free": Rule(_FREE),
}
"""By the name that a controller gives its rule."""


def add_controller(code: CodeBuilder, policy: PolicyDescription, d: int) -> str:
    """Add a controller of continuous actions; return the statement that applies it.

    The price of a dial is a setting in the state.

    Args:
        code: Where it is added.
        policy: The policy with its controller.
        d: How many numbers an action has.

    Raises:
        InputError: Nobody has written this rule.
    """
    controller = policy.controller
    assert controller is not None
    if controller.rule not in RULES:
        raise InputError(
            f"a controller with the rule '{controller.rule}' cannot be written as C: export its "
            "core instead"
        )
    rule = RULES[controller.rule]
    ((features, head),) = controller.networks
    shape = policy.spaces.obs_shape
    first = add_network(code, "policy_features", features, code.observation, shape)
    sizes = {"d": d, "first": first, "inputs": first + d + 1}
    if rule.priced:
        sizes["inputs"] += d + prices.FEATURES
        _add_price(code, controller)
    outputs = add_network(
        code, "policy_controller_network", head, "const float *x", (sizes["inputs"],)
    )
    values = {
        **sizes,
        "mu0": literal(np.float64(controller.numbers.get("mu0", 0.0))),
        "gate": "i" if outputs == d else "0",
        "scale": literal(np.float64(1 / math.log(101.0))),
        "outputs": outputs,
    }
    template = _CONTROLLER.replace("$rule", rule.text.strip())
    for name, text in (("price", _SEES_PRICE), ("share", _SHARE)):
        known = text.strip() if rule.priced else ""
        template = template.replace(f"    ${name}\n", f"    {known}\n" if known else "")
    code.add_function(template, **values)
    return "policy_controller(state, observation, scaled);"


def _add_price(code: CodeBuilder, controller: ControllerDescription) -> None:
    numbers = controller.numbers
    price = literal(np.float64(numbers["price"]))
    about = "price of movement; setting; below 0 a share of the core"
    code.fields.append(StateField("double", "price", price, about, lasts=True))
    largest = max(numbers["largest_price"], float(np.finfo(np.float32).tiny))
    code.add_function(_PRICE, largest=literal(np.float64(largest)))
