"""The filters of a policy as C functions, one row in `FILTERS` for each kind.

A filter adds its fields to `policy_state` and a function. The statement that it returns changes
`action`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policy_inertia.actions.bucket import TOKEN
from policy_inertia.errors import InputError
from policy_inertia.interop.c_code import CodeBuilder, StateField, literal
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import REMAINING, Filter, Hold
from policy_inertia.policies.token_bucket import TOKENS, TokenBucket

_HYSTERESIS = """
/* repeat the last action unless the new one is better by the threshold */
static int32_t policy_hysteresis(const policy_state *state, const float *scores, int32_t action)
{
    const int32_t previous = state->previous_action;
    if (previous < 0 || scores[action] - scores[previous] >= state->threshold) {
        return action;
    }
    return previous;
}
"""

_HOLD = """
/* split a choice into an action and the number of steps to hold it */
static int32_t policy_hold(policy_state *state, int32_t choice)
{
    static const int32_t steps[$n] = {$steps};
    int32_t action = state->previous_action;
    if (state->remaining == 0 || action < 0) {
        action = choice / $n;
        state->remaining = steps[choice % $n];
    }
    state->remaining -= 1;
    return action;
}
"""

_TOKEN_BUCKET = """
/* a switch takes a token; without one, the last action is repeated */
static int32_t policy_token_bucket(policy_state *state, int32_t action)
{
    const int32_t previous = state->previous_action;
    int64_t cost = previous >= 0 && action != previous ? POLICY_TOKEN : 0;
    if (policy_tokens(state) < cost) {
        action = previous;
        cost = 0;
    }
    state->tokens = policy_tokens_after(state, cost);
    return action;
}
"""


def _hysteresis(code: CodeBuilder, rule: Hysteresis) -> str:
    """`hysteresis.apply_hysteresis`."""
    about = "how much better a new action must be; setting"
    threshold = literal(rule.threshold)
    code.fields.append(StateField("float", "threshold", threshold, about, lasts=True))
    code.add_function(_HYSTERESIS)
    return "action = policy_hysteresis(state, scores, action);"


def _hold(code: CodeBuilder, rule: Hold) -> str:
    """`memory.Hold.step`."""
    about = "steps for which the action is still held"
    code.fields.append(StateField("int32_t", REMAINING, "0", about))
    code.add_function(_HOLD, n=len(rule.repeats), steps=", ".join(map(str, rule.repeats)))
    return "action = policy_hold(state, action);"


def _token_bucket(code: CodeBuilder, rule: TokenBucket) -> str:
    """`token_bucket.TokenBucket.step`."""
    rate, burst = rule.limit.rate_units, rule.limit.burst_units
    of_rate = "millionths of a token per step, 0 to 1000000 (no limit); setting"
    of_burst = "what the bucket holds, from 1000000 on; setting"
    left = "what is left, in millionths of a token"
    code.fields += [
        StateField("int64_t", "rate", f"{rate}", of_rate, lasts=True),
        StateField("int64_t", "burst", f"{burst}", of_burst, lasts=True),
        StateField("int64_t", TOKENS, "policy_burst(state)", left, lasts=rule.limit.carry_over),
    ]
    code.macros["POLICY_TOKEN"] = f"INT64_C({TOKEN}) /* one token, in its unit */"
    code.use("limit")
    code.add_function(_TOKEN_BUCKET)
    return "action = policy_token_bucket(state, action);"


FILTERS: dict[type, Callable[[CodeBuilder, Any], str]] = {
    Hysteresis: _hysteresis,
    Hold: _hold,
    TokenBucket: _token_bucket,
}
"""From code and filter to the statement that applies the filter."""


def add_filter(code: CodeBuilder, rule: Filter) -> str:
    """Add a filter; return the statement that applies it.

    Raises:
        InputError: This kind of filter cannot be written as C.
    """
    if type(rule) not in FILTERS:
        raise InputError(
            f"a policy with {type(rule).__name__} cannot be written as C: export it without that "
            "filter"
        )
    return FILTERS[type(rule)](code, rule)
