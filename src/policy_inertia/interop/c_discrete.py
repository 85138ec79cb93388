"""Policies with a finite list of actions in C: how they act."""

from __future__ import annotations

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.algorithms.losses import LOG_ZERO
from policy_inertia.interop.c_code import CodeBuilder, StateField, literal
from policy_inertia.interop.c_filters import add_filter
from policy_inertia.interop.c_rules import Task, add_decision
from policy_inertia.interop.description import PolicyDescription
from policy_inertia.policies.memory import PREVIOUS_ACTION, Filter
from policy_inertia.policies.token_bucket import TokenBucket

_DISCRETE_ACT = """
/* the most probable action, as the environment counts it */
int32_t policy_act(policy_state *state, $observation);
"""

_DISCRETE_SAMPLE = """
/* an action drawn by the policy; u is a random number of yours, uniform in [0, 1) */
int32_t policy_sample(policy_state *state, $observation, double u);
"""

_DISCRETE_STEP = """
/* u below 0: the most probable action */
static int32_t policy_step(policy_state *state, $observation, double u)
{
    float log_pi[$choices], scores[$choices];
    policy_decide(state, observation, log_pi, scores);
    int32_t action = u < 0.0 ? policy_best(log_pi, $choices) : policy_draw(log_pi, $choices, u);
    $filters
    state->previous_action = action;
    return action + POLICY_FIRST_ACTION;
}

int32_t policy_act(policy_state *state, $observation)
{
    return policy_step(state, observation, -1.0);
}

int32_t policy_sample(policy_state *state, $observation, double u)
{
    return policy_step(state, observation, u < 0.0 ? 0.0 : u);
}
"""


def discrete_step(code: CodeBuilder, policy: PolicyDescription) -> None:
    """Add `policy_act` and `policy_sample` for a finite list of actions."""
    example = np.zeros((1, *policy.spaces.obs_shape), np.float32)
    choices = policy.core_output(example).shape[1]
    code.usage = "action = policy_act(&state, observation);"
    code.add_helper("log_zero", f"#define POLICY_LOG_ZERO ({literal(LOG_ZERO)})")
    about = "counted from 0; -1 at the start of an episode"
    code.fields.append(StateField("int32_t", PREVIOUS_ACTION, "-1", about))
    code.macros["POLICY_ACTIONS"] = str(policy.spaces.discrete.n)
    code.macros["POLICY_FIRST_ACTION"] = f"({policy.spaces.discrete.first})"
    code.declare(_DISCRETE_ACT)
    code.declare(_DISCRETE_SAMPLE)
    code.use("best", "draw")
    add_decision(Task(code, policy, choices))
    statements = [add_filter(code, rule) for rule in _filters(policy)]
    template = _DISCRETE_STEP if statements else _DISCRETE_STEP.replace("    $filters\n", "")
    code.add_function(template, choices=choices, filters="\n    ".join(statements))


def _filters(policy: PolicyDescription) -> tuple[Filter, ...]:
    """The policy's filters; one that can plan with limits has a bucket without a limit at least.

    A rate of one token per step is no limit, and the caller can set another.
    """
    controller = policy.controller
    plans = controller is not None and "largest_burst" in controller.numbers
    if not plans or any(isinstance(rule, TokenBucket) for rule in policy.filters):
        return policy.filters
    assert controller is not None
    free = Limit(1.0, controller.numbers["largest_burst"])
    return (*policy.filters, TokenBucket(free, policy.spaces.actions))
