"""The decisions of a policy as C functions: the core, and one row in `RULES` for each controller.

A rule adds the function `policy_decide`, which writes the log-probabilities of all choices and the
scores that hysteresis compares. The tests hold every row against the NumPy function that it
repeats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from policy_inertia.actions.bucket import units
from policy_inertia.algorithms.controllers import limit_draws
from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.errors import InputError
from policy_inertia.interop import c_rule_text as text
from policy_inertia.interop.c_code import CodeBuilder, StateField, fill, literal
from policy_inertia.interop.c_layers import add_network
from policy_inertia.interop.description import ControllerDescription, PolicyDescription
from policy_inertia.policies.core_outputs import GREEDY


class Task(NamedTuple):
    """What every rule needs to know."""

    code: CodeBuilder
    policy: PolicyDescription
    choices: int
    """The number of choices: actions, times numbers of steps to hold them."""


Rule = Callable[[Task, ControllerDescription], None]


def add_decision(task: Task) -> None:
    """Add `policy_decide` for the policy's controller, or for its core alone.

    Raises:
        InputError: A part of the policy cannot be written as C.
    """
    controller = task.policy.controller
    if controller is None:
        _add_core(task)
        task.code.add_function(text.ALONE)
        return
    if controller.rule not in RULES:
        raise InputError(
            f"a controller with the rule '{controller.rule}' cannot be written as C: export its "
            "core instead"
        )
    RULES[controller.rule](task, controller)


def _add_core(task: Task) -> None:
    """The core's log-probabilities and scores; see `Core.acting`."""
    code, policy, n = task.code, task.policy, task.choices
    add_network(code, "policy_core_network", policy.core, code.observation, policy.spaces.obs_shape)
    lines = []
    if policy.kind == "logits":
        if policy.temperature not in (GREEDY, 1):
            lines.append(_divided("scores", task))
        code.use("log_softmax")
        lines.append(f"policy_log_softmax(scores, {n});")
    if policy.temperature == GREEDY:
        code.use("best", "certain")
        lines.append(f"policy_certain(policy_best(scores, {n}), {n}, log_pi);")
    else:
        code.use("copy")
        lines.append(f"policy_copy(scores, {n}, log_pi);")
        if policy.kind == "q":
            code.use("log_softmax")
            lines += [_divided("log_pi", task), f"policy_log_softmax(log_pi, {n});"]
    code.add_function(text.CORE, body="\n    ".join(lines))


def _divided(array: str, task: Task) -> str:
    """Divide an array by the temperature."""
    loop = f"for (int i = 0; i < {task.choices}; i++) {{"
    return f"{loop}\n        {array}[i] /= {literal(task.policy.temperature)};\n    }}"


def _add_networks(task: Task, controller: ControllerDescription, extra: int = 0) -> dict[str, int]:
    """Add `policy_inputs` and `policy_network_0`, ...

    Args:
        task: The policy.
        controller: Its controller.
        extra: How many inputs follow the observation and the previous action.

    Returns:
        The sizes by their names in the templates.
    """
    code, n = task.code, task.choices
    features, _ = controller.networks[0]
    shape = task.policy.spaces.obs_shape
    size = add_network(code, "policy_features", features, code.observation, shape)
    code.use("one_hot")
    seen, core, last = "the observation and the previous action", "(void)scores;", size
    if controller.core_unit:
        code.use("best")
        code.add_function(text.PREFERENCES, choices=n, unit=literal(controller.core_unit))
        seen = "the observation, the core's preferences and the previous action"
        core, last = f"policy_preferences(scores, x + {size});", size + n
    code.add_function(text.INPUTS, seen=seen, core=core, last=last, choices=n)
    inputs = last + n + extra
    for i, (_, head) in enumerate(controller.networks):
        add_network(code, f"policy_network_{i}", head, "const float *x", (inputs,))
    return {"inputs": inputs, "choices": n, "first": last + n}


def mixture(task: Task, controller: ControllerDescription) -> None:
    """`losses.log_mixture`, Equation (mixed_policy)."""
    _add_core(task)
    sizes = _add_networks(task, controller)
    mu0 = controller.numbers["mu0"]
    log_mu = "log_share"
    if mu0 > 0:
        log_mu = f"policy_log_add_exp({literal(math.log(mu0))}, log_share)"
    task.code.use("log_add_exp", "copy")
    log_keep = literal(math.log1p(-mu0))
    task.code.add_function(text.MIXTURE, log_keep=log_keep, log_mu=log_mu, **sizes)


def _add_twins(task: Task, controller: ControllerDescription, sizes: dict[str, int]) -> None:
    """`ValuedConfig.joined`: the lower value of the twins, or their mean."""
    joined, value = "the lower", "other[i] < q[i] ? other[i] : q[i]"
    if controller.mean:
        joined, value = "the mean", "0.5f * (q[i] + other[i])"
    task.code.add_function(text.TWINS, joined=joined, value=value, **sizes)


def _add_priced_values(task: Task, controller: ControllerDescription) -> None:
    """`Priced._values`: `prices.net` of the twins' values."""
    numbers, code = controller.numbers, task.code
    sizes = _add_networks(task, controller, 3 if controller.has_dial else 0)
    _add_twins(task, controller, sizes)
    if not controller.has_dial:
        code.add_function(text.FIXED_PRICE, price=literal(numbers["fixed_price"]), **sizes)
        return
    about = "price of a switch; setting; below 0 a margin for the core's action"
    code.fields.append(StateField("float", "price", literal(numbers["price"]), about, lasts=True))
    # before the first reward the largest price is 0
    largest = max(numbers["largest_price"], float(np.finfo(np.float32).tiny))
    code.add_function(
        text.DIAL,
        largest=literal(largest),
        enough=literal(-IMPOSSIBLE),
        scale=literal(1 / math.log(101.0)),
        **sizes,
    )


def _add_plan_values(task: Task, controller: ControllerDescription) -> None:
    """`TokenPlanner._values`; the bucket's filter adds the fields that it reads."""
    waits, horizons = np.array(limit_draws.WAITS, np.float32).T
    sizes = _add_networks(task, controller, limit_draws.FEATURES)
    burst = controller.numbers["largest_burst"]
    task.code.use("limit")
    _add_twins(task, controller, sizes)
    task.code.add_function(
        text.LIMIT_FEATURES,
        waits=len(waits),
        wait_list=", ".join(map(literal, waits)),
        horizon_list=", ".join(map(literal, horizons)),
        full=units(burst),
        largest=literal(burst),
        scale=literal(1 / math.log(101.0)),
    )
    task.code.add_function(text.PLAN, impossible=literal(IMPOSSIBLE), **sizes)


def _add_best(task: Task, has_dial: bool = False) -> None:
    task.code.use("best", "certain")
    core, margin = (
        (fill(text.CORE_ACTION, choices=task.choices), text.MARGIN) if has_dial else ("", "")
    )
    task.code.add_function(text.BEST, choices=task.choices, core=core, margin=margin)


def _add_gate(task: Task, controller: ControllerDescription) -> None:
    _add_core(task)
    task.code.use("best", "certain")
    begin = text.CRITICS_BEGIN if controller.numbers.get("critics_begin") else ""
    task.code.add_function(
        text.GATE,
        choices=task.choices,
        begin=fill(begin, choices=task.choices),
        margin=text.MARGIN if controller.has_dial else "",
    )


def free(task: Task, controller: ControllerDescription) -> None:
    """`controllers.dial.free_choice`: the best action after the price is paid."""
    _add_priced_values(task, controller)
    if controller.has_dial:
        _add_core(task)
    _add_best(task, controller.has_dial)


def gate(task: Task, controller: ControllerDescription) -> None:
    """`controllers.gate.gate_choice`: repeat, or follow the core."""
    _add_priced_values(task, controller)
    _add_gate(task, controller)


def plan(task: Task, controller: ControllerDescription) -> None:
    """`controllers.token_planner.TokenPlanner` with the best action."""
    _add_plan_values(task, controller)
    _add_best(task)


def plan_gate(task: Task, controller: ControllerDescription) -> None:
    """`controllers.token_planner.TokenPlanner` as a gate."""
    _add_plan_values(task, controller)
    _add_gate(task, controller)


RULES: dict[str, Rule] = {
    "mixture": mixture,
    "gate": gate,
    "free": free,
    "plan": plan,
    "plan-gate": plan_gate,
}
"""How a controller's networks become a policy, by `ControllerParts.rule`."""
