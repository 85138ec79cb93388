"""Policies with continuous actions in C: core, controller, filters, and how they act.

Networks are float, everything behind them is double, as in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.interop.c_action_rules import add_rule
from policy_inertia.interop.c_box_controllers import add_controller
from policy_inertia.interop.c_code import CodeBuilder, StateField, literal
from policy_inertia.interop.c_layers import add_network
from policy_inertia.interop.description import PolicyDescription
from policy_inertia.policies.action_filters.action_filter import ActionFilter
from policy_inertia.policies.memory import PREVIOUS_ACTION

_ACT = """
/* writes the action, as the environment has it: POLICY_ACTION_SIZE numbers within their bounds.
 * If the network gives something that is not a number, the last action is repeated. */
void policy_act(policy_state *state, $observation, $type *action);
"""

_RESET_TO = """
/* a hand-over: start an episode from an action that somebody else took last */
void policy_reset_to(policy_state *state, const $type *action);
"""

_SCALED = """
/* an action of the environment as a number from -1 (the lower bound) to 1 (the upper one) */
static double policy_scaled(double value, int i)
{
    return policy_within((value - policy_middle[i]) / policy_half_range[i], -1.0, 1.0);
}
"""

_STEP = """
void policy_act(policy_state *state, $observation, $type *action)
{
    float values[$d];
    double scaled[$d];
    policy_core_network(observation, values);
    for (int i = 0; i < $d; i++) {
        scaled[i] = policy_scaled((double)values[i], i);
        if (isnan(values[i])) {
            scaled[i] = state->has_previous ? policy_scaled(state->previous_action[i], i) : 0.0;
        }
    }
    $rules
    for (int i = 0; i < $d; i++) {
        const double value = policy_middle[i] + policy_half_range[i] * scaled[i];
        action[i] = ($type)policy_within(value, policy_low[i], policy_high[i]);
        state->previous_action[i] = action[i];
    }
    state->has_previous = 1;
}

void policy_reset_to(policy_state *state, const $type *action)
{
    policy_reset(state);
    for (int i = 0; i < $d; i++) {
        state->previous_action[i] = action[i];
    }
    state->has_previous = 1;
}
"""

_FILTER = """
static void policy_$role(policy_state *state, double *action)
{
    static const int places[$n] = {$places};
    double x[$n], y[$n];
    if (!state->has_previous || !state->${role}_started) {
        for (int i = 0; i < $n; i++) {
            const int j = places[i];
            x[i] = state->has_previous ? policy_scaled(state->previous_action[j], j) : action[j];
        }
        policy_${role}_start(state, x);
        state->${role}_started = 1;
    }
    for (int i = 0; i < $n; i++) {
        x[i] = action[places[i]];
    }
    policy_${role}_rule(state, x, y);
    for (int i = 0; i < $n; i++) {
        action[places[i]] = policy_within(y[i], -1.0, 1.0);
    }
}
"""

_FILTER_OF_POSITIONS = """
/* the position of deltas is their sum, which starts at 0 */
static void policy_$role(policy_state *state, double *action)
{
    static const int places[$n] = {$places};
    static const int is_delta[$n] = {$is_delta};
    static const double zero[$n] = {$zero}; /* 0 of the environment, scaled */
    double x[$n], y[$n];
    if (!state->has_previous || !state->${role}_started) {
        for (int i = 0; i < $n; i++) {
            const int j = places[i];
            x[i] = state->has_previous ? policy_scaled(state->previous_action[j], j) : action[j];
            x[i] = is_delta[i] ? 0.0 : x[i];
            state->${role}_wanted[i] = 0.0;
            state->${role}_taken[i] = 0.0;
        }
        policy_${role}_start(state, x);
        state->${role}_started = 1;
    }
    for (int i = 0; i < $n; i++) {
        x[i] = action[places[i]];
        if (is_delta[i]) {
            x[i] = state->${role}_wanted[i] + x[i] - zero[i];
        }
    }
    policy_${role}_rule(state, x, y);
    for (int i = 0; i < $n; i++) {
        const double taken = state->${role}_taken[i];
        y[i] = policy_within(is_delta[i] ? y[i] - taken + zero[i] : y[i], -1.0, 1.0);
        action[places[i]] = y[i];
        if (is_delta[i]) {
            state->${role}_taken[i] = taken + y[i] - zero[i];
            state->${role}_wanted[i] = $target;
        }
    }
}
"""


def box_step(code: CodeBuilder, policy: PolicyDescription) -> None:
    """Add `policy_act` and `policy_reset_to` for continuous actions."""
    actions: Any = policy.spaces.actions
    d, number = len(actions.low), {"float32": "float", "float64": "double"}[actions.precision]
    code.usage = "policy_act(&state, observation, action);"
    code.macros["POLICY_ACTION_SIZE"] = str(d)
    about = "the last action, as the environment has it"
    code.fields += [
        StateField(number, PREVIOUS_ACTION, "0", about, size=d),
        StateField("int32_t", "has_previous", "0", "0 at the start of an episode"),
    ]
    code.declare(_ACT, type=number)
    code.declare(_RESET_TO, type=number)
    bounds = {"low": actions.low, "high": actions.high}
    scale = {"middle": actions.middle, "half_range": actions.half_range}
    for name, values in (bounds | scale).items():
        code.add_array(f"policy_{name}", np.array(values, np.float64))
    code.use("within")
    code.add_function(_SCALED)
    add_network(code, "policy_core_network", policy.core, code.observation, policy.spaces.obs_shape)
    statements = [] if policy.controller is None else [add_controller(code, policy, d)]
    statements += [add_filter(code, rule) for rule in policy.filters if len(rule.touched)]  # type: ignore[attr-defined]
    template = _STEP if statements else _STEP.replace("    $rules\n", "")
    code.add_function(template, d=d, type=number, rules="\n    ".join(statements))


def add_filter(code: CodeBuilder, rule: Any) -> str:
    """Add a filter of continuous actions; return the statement that applies it.

    Raises:
        InputError: This kind of filter cannot be written as C.
    """
    if not isinstance(rule, ActionFilter):
        raise InputError(
            f"a policy with {type(rule).__name__} cannot be written as C: export it without that "
            "filter"
        )
    n, role = len(rule.touched), rule.role
    code.fields.append(StateField("int32_t", f"{role}_started", "0", f"1 once the {role} runs"))
    for name, width in rule.widths.items():
        code.fields.append(StateField("double", name, "0.0", f"memory of the {role}", size=width))
    add_rule(code, rule.rule, role, n)
    template, values = _FILTER, {"role": role, "n": n, "places": _listed(rule.touched)}
    if rule.delta is not None:
        template = _FILTER_OF_POSITIONS
        values["is_delta"] = _listed(rule.delta.astype(int))
        values["zero"] = ", ".join(literal(np.float64(zero)) for zero in rule.zero + 0.0)
        values["target"] = f"state->{role}_taken[i]" if rule.rule.forgets else "x[i]"
    code.add_function(template, **values)
    return f"policy_{role}(state, scaled);"


def _listed(values: np.ndarray) -> str:
    return ", ".join(map(str, values.tolist()))
