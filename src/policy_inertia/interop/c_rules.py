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
from policy_inertia.interop.c_code import CodeBuilder, StateField, fill, literal
from policy_inertia.interop.c_layers import add_network
from policy_inertia.interop.description import ControllerDescription, PolicyDescription
from policy_inertia.policies.cores import GREEDY

_CORE = """
static void policy_core($observation, float *log_pi, float *scores)
{
    policy_core_network(observation, scores);
    $body
}
"""

_ALONE = """
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{
    (void)state;
    policy_core(observation, log_pi, scores);
}
"""

_INPUTS = """
/* what the controller's networks see first: $seen */
static void policy_inputs($observation, int32_t previous, const float *scores, float *x)
{
    policy_features(observation, x);
    $core
    policy_one_hot(previous, $choices, x + $last);
}
"""

_MIXTURE = """
/* pi = mu delta(a_prev) + (1 - mu) pi_core, in logarithms */
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{
    policy_core(observation, log_pi, scores);
    if (state->previous_action >= 0) {
        float x[$inputs], out[1];
        policy_inputs(observation, state->previous_action, scores, x);
        policy_network_0(x, out);
        const float log_release = $log_keep - policy_log_add_exp(0.0f, 2.0f * out[0]);
        const float log_share = $log_keep - policy_log_add_exp(0.0f, -2.0f * out[0]);
        const float log_mu = $log_mu;
        for (int i = 0; i < $choices; i++) {
            const float follow = log_release + log_pi[i];
            const int repeats = i == state->previous_action;
            log_pi[i] = repeats ? policy_log_add_exp(log_mu, follow) : follow;
        }
    }
    policy_copy(log_pi, $choices, scores);
}
"""

_TWINS = """
/* the lower of the values of two critics */
static void policy_lower_values(const float *x, float *q)
{
    float other[$choices];
    policy_network_0(x, q);
    policy_network_1(x, other);
    for (int i = 0; i < $choices; i++) {
        q[i] = other[i] < q[i] ? other[i] : q[i];
    }
}
"""

_PREFERENCES = """
/* how much the core prefers its best action to each one */
static void policy_preferences(const float *scores, float *x)
{
    const float best = scores[policy_best(scores, $choices)];
    for (int i = 0; i < $choices; i++) {
        x[i] = log1pf((best - scores[i]) / $unit);
    }
}
"""

_FIXED_PRICE = """
/* Q(s, a_prev, .), up to a constant; q holds the core's scores before */
static void policy_values(const policy_state *state, $observation, float *q)
{
    float x[$inputs];
    policy_inputs(observation, state->previous_action, q, x);
    policy_lower_values(x, q);
    if (state->previous_action >= 0) {
        q[state->previous_action] += $price;
    }
}
"""

_DIAL = """
/* Q(s, a_prev, .) at the price that is set, up to a constant; q holds the core's scores before */
static void policy_values(const policy_state *state, $observation, float *q)
{
    float x[$inputs];
    const float price = state->price > 0.0f ? state->price : 0.0f;
    float share = price / $largest;
    share = share < 1.0f ? share : 1.0f; /* nothing beyond was learned */
    policy_inputs(observation, state->previous_action, q, x);
    x[$first] = log1pf(100.0f * share) * $scale;
    x[$first + 1] = sqrtf(share);
    x[$first + 2] = share;
    policy_lower_values(x, q);
    if (state->previous_action >= 0) {
        q[state->previous_action] += price;
    }
}

/* below a price of 0: by how much an action must be better than the core's */
static float policy_margin(const policy_state *state)
{
    if (!(state->price < 0.0f)) {
        return 0.0f;
    }
    return state->price <= -$largest ? $enough : -state->price;
}
"""

_LIMIT_FEATURES = """
/* what the critics see of a limit and its tokens */
static void policy_limit_features(const policy_state *state, int64_t tokens, float *x)
{
    static const float waits[$waits] = {$wait_list};
    static const float horizons[$waits] = {$horizon_list};
    const int64_t full = $full, rate = policy_rate(state);
    const int is_free = rate >= POLICY_TOKEN;
    int64_t burst = policy_burst(state);
    tokens = is_free || tokens > full ? full : tokens;
    burst = is_free || burst > full ? full : burst;
    const float t = (float)tokens * 1e-6f, r = (float)rate * 1e-6f, b = (float)burst * 1e-6f;
    x[0] = log1pf(100.0f * r) * $scale;
    x[1] = is_free ? 1.0f : 0.0f;
    x[2] = t / $largest;
    x[3] = tokens >= POLICY_TOKEN ? 1.0f : 0.0f;
    x[4] = b / $largest;
    for (int i = 0; i < $waits; i++) {
        const float earned = r * horizons[i] + 1e-6f;
        const float missing = waits[i] > t ? waits[i] - t : 0.0f;
        x[5 + i] = earned / (earned + missing);
    }
}
"""

_PLAN = """
/* Q(s, a_prev, .) with the tokens that are left; a switch without a token is impossible;
   q holds the core's scores before */
static void policy_values(const policy_state *state, $observation, float *q)
{
    float x[$inputs];
    const int32_t previous = state->previous_action;
    policy_inputs(observation, previous, q, x);
    policy_limit_features(state, policy_tokens_after(state, 0), x + $first);
    policy_lower_values(x, q);
    if (previous >= 0) {
        const float repeat = q[previous];
        if (policy_tokens(state) < POLICY_TOKEN) {
            for (int i = 0; i < $choices; i++) {
                q[i] = $impossible;
            }
        } else if (policy_rate(state) < POLICY_TOKEN) {
            policy_limit_features(state, policy_tokens_after(state, POLICY_TOKEN), x + $first);
            policy_lower_values(x, q);
        }
        q[previous] = repeat;
    }
}
"""

_BEST = """
/* take the best action */
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{$core
    policy_values(state, observation, scores);$margin
    policy_certain(policy_best(scores, $choices), $choices, log_pi);
}
"""

_GATE = """
/* repeat the last action if that is worth as much as the core's action, else follow the core */
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{
    const int32_t previous = state->previous_action;
    policy_core(observation, log_pi, scores);
    int32_t action = policy_best(log_pi, $choices);
    policy_values(state, observation, scores);$margin
    if (previous >= 0 && scores[previous] >= scores[action]) {
        action = previous;
    }$begin
    policy_certain(action, $choices, log_pi);
}
"""
_MARGIN = "\n    scores[action] += policy_margin(state);"
_CORE_ACTION = """
    int32_t action = 0;
    if (state->price < 0.0f) { /* only a margin asks for the core's action */
        policy_core(observation, log_pi, scores);
        action = policy_best(log_pi, $choices);
    }"""
_CRITICS_BEGIN = " if (previous < 0) {\n        action = policy_best(scores, $choices);\n    }"


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
        task.code.add_function(_ALONE)
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
    code.add_function(_CORE, body="\n    ".join(lines))


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
        code.add_function(_PREFERENCES, choices=n, unit=literal(controller.core_unit))
        seen = "the observation, the core's preferences and the previous action"
        core, last = f"policy_preferences(scores, x + {size});", size + n
    code.add_function(_INPUTS, seen=seen, core=core, last=last, choices=n)
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
    task.code.add_function(_MIXTURE, log_keep=log_keep, log_mu=log_mu, **sizes)


def _add_priced_values(task: Task, controller: ControllerDescription) -> None:
    """`Priced._values`: `prices.net` of the lower of the twins' values."""
    numbers, code = controller.numbers, task.code
    sizes = _add_networks(task, controller, 3 if controller.has_dial else 0)
    code.add_function(_TWINS, **sizes)
    if not controller.has_dial:
        code.add_function(_FIXED_PRICE, price=literal(numbers["fixed_price"]), **sizes)
        return
    about = "price of a switch; setting; below 0 a margin for the core's action"
    code.fields.append(StateField("float", "price", literal(numbers["price"]), about, lasts=True))
    # before the first reward the largest price is 0
    largest = max(numbers["largest_price"], float(np.finfo(np.float32).tiny))
    code.add_function(
        _DIAL,
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
    task.code.add_function(_TWINS, **sizes)
    task.code.add_function(
        _LIMIT_FEATURES,
        waits=len(waits),
        wait_list=", ".join(map(literal, waits)),
        horizon_list=", ".join(map(literal, horizons)),
        full=units(burst),
        largest=literal(burst),
        scale=literal(1 / math.log(101.0)),
    )
    task.code.add_function(_PLAN, impossible=literal(IMPOSSIBLE), **sizes)


def _add_best(task: Task, has_dial: bool = False) -> None:
    task.code.use("best", "certain")
    core, margin = (fill(_CORE_ACTION, choices=task.choices), _MARGIN) if has_dial else ("", "")
    task.code.add_function(_BEST, choices=task.choices, core=core, margin=margin)


def _add_gate(task: Task, controller: ControllerDescription) -> None:
    _add_core(task)
    task.code.use("best", "certain")
    begin = _CRITICS_BEGIN if controller.numbers.get("critics_begin") else ""
    task.code.add_function(
        _GATE,
        choices=task.choices,
        begin=fill(begin, choices=task.choices),
        margin=_MARGIN if controller.has_dial else "",
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
