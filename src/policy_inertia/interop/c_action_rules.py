"""The rules that smooth continuous actions as C functions, one row in `RULES` for each.

A rule adds its settings to `policy_state` and two functions: `start`, as if the input had been `x`
for ever, and `rule`, from the input `x` to the output `y`. The memory has the names that the rule
gives it in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.actions import bucket
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.errors import InputError
from policy_inertia.interop.c_code import CodeBuilder, StateField, literal
from policy_inertia.policies.action_filters.butterworth import Butterworth
from policy_inertia.policies.action_filters.dead_band import DeadBand
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.one_euro import OneEuro
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.action_filters.rule import Rule

_START = """
static void policy_${role}_start(policy_state *state, const double *x)
{
    for (int i = 0; i < $n; i++) {
        state->${role}_output[i] = x[i];
    }
}
"""

_EXPONENTIAL = (
    _START
    + """
/* go a share of the way */
static void policy_${role}_rule(policy_state *state, const double *x, double *y)
{
    const double alpha = policy_within(state->${role}_alpha, 1e-9, 1.0);
    for (int i = 0; i < $n; i++) {
        y[i] = state->${role}_output[i];
        y[i] = y[i] + alpha * (x[i] - y[i]);
        state->${role}_output[i] = y[i];
    }
}
"""
)

_DEAD_BAND = (
    _START
    + """
/* leave out small moves */
static void policy_${role}_rule(policy_state *state, const double *x, double *y)
{
    const double width = policy_within(state->${role}_width, 0.0, 1.0);
    for (int i = 0; i < $n; i++) {
        y[i] = state->${role}_output[i];
        y[i] = fabs(x[i] - y[i]) > 2.0 * width ? x[i] : y[i];
        state->${role}_output[i] = y[i];
    }
}
"""
)

_RATE_LIMIT = (
    _START
    + """
/* move by at most so much in a step */
static void policy_${role}_rule(policy_state *state, const double *x, double *y)
{
    const double rate = policy_within(state->${role}_rate, 1e-9, 1.0);
    for (int i = 0; i < $n; i++) {
        y[i] = state->${role}_output[i];
        y[i] = y[i] + policy_within(x[i] - y[i], -2.0 * rate, 2.0 * rate);
        state->${role}_output[i] = y[i];
    }
}
"""
)

_BUTTERWORTH = """
/* b0 (b1 is twice as much, b2 the same), a1 and a2 */
static void policy_${role}_coefficients(const policy_state *state, double *b0, double *a1,
                                        double *a2)
{
    const double cutoff = policy_within(state->${role}_cutoff, 1e-6, 0.999999);
    const double k = tan($pi * cutoff / 2.0);
    const double scale = 1.0 / (1.0 + $root * k + k * k);
    *b0 = k * k * scale;
    *a1 = 2.0 * (k * k - 1.0) * scale;
    *a2 = (1.0 - $root * k + k * k) * scale;
}

static void policy_${role}_start(policy_state *state, const double *x)
{
    double b0, a1, a2;
    policy_${role}_coefficients(state, &b0, &a1, &a2);
    for (int i = 0; i < $n; i++) {
        state->${role}_first[i] = (1.0 - b0) * x[i];
        state->${role}_second[i] = (b0 - a2) * x[i];
    }
}

/* a second-order low-pass filter in transposed direct form II */
static void policy_${role}_rule(policy_state *state, const double *x, double *y)
{
    double b0, a1, a2;
    policy_${role}_coefficients(state, &b0, &a1, &a2);
    for (int i = 0; i < $n; i++) {
        y[i] = b0 * x[i] + state->${role}_first[i];
        state->${role}_first[i] = 2.0 * b0 * x[i] - a1 * y[i] + state->${role}_second[i];
        state->${role}_second[i] = b0 * x[i] - a2 * y[i];
    }
}
"""

_ONE_EURO = """
static void policy_${role}_start(policy_state *state, const double *x)
{
    for (int i = 0; i < $n; i++) {
        state->${role}_input[i] = x[i];
        state->${role}_speed[i] = 0.0;
        state->${role}_output[i] = x[i];
    }
}

/* the share of the way that exponential smoothing with this cutoff goes in a step */
static double policy_${role}_share(double cutoff)
{
    return 1.0 / (1.0 + 1.0 / (2.0 * $pi * cutoff));
}

/* smooth slow movement much and fast movement little */
static void policy_${role}_rule(policy_state *state, const double *x, double *y)
{
    const double min_cutoff = policy_within(state->${role}_min_cutoff, 1e-9, 1000.0);
    const double beta = policy_within(state->${role}_beta, 0.0, 1e9);
    const double speed_cutoff = policy_within(state->${role}_speed_cutoff, 1e-9, 1000.0);
    for (int i = 0; i < $n; i++) {
        double speed = state->${role}_speed[i];
        const double moved = (x[i] - state->${role}_input[i]) / 2.0;
        speed = speed + policy_${role}_share(speed_cutoff) * (moved - speed);
        y[i] = state->${role}_output[i];
        y[i] = y[i] + policy_${role}_share(min_cutoff + beta * fabs(speed)) * (x[i] - y[i]);
        state->${role}_input[i] = x[i];
        state->${role}_speed[i] = speed;
        state->${role}_output[i] = y[i];
    }
}
"""

_MOVEMENT_LIMIT = """
static double policy_${role}_full(const policy_state *state)
{
    return policy_within((double)state->${role}_burst, 1.0, POLICY_TOKEN * 1e6);
}

static void policy_${role}_start(policy_state *state, const double *x)
{
    for (int i = 0; i < $n; i++) {
        state->${role}_output[i] = x[i];
    }
    for (int c = 0; c < $buckets; c++) {
        state->${role}_tokens[c] = policy_${role}_full(state);
    }
}

/* what a move takes, in millionths: the mean over some numbers, as a share of their range */
static double policy_${role}_cost(const double *from, const double *to, int first)
{
    double sum = 0.0;
    for (int i = first; i < first + $size; i++) {
        sum += fabs(to[i] - from[i]) / 2.0;
    }
    return ceil(sum / $size.0 * POLICY_TOKEN);
}

/* movement takes tokens; where there are too few, go as far as they reach */
static void policy_${role}_rule(policy_state *state, const double *x, double *y)
{
    const double rate = policy_within((double)state->${role}_rate, 0.0, POLICY_TOKEN);
    const double full = policy_${role}_full(state);
    double *last = state->${role}_output;
    for (int c = 0; c < $buckets; c++) {
        const int first = c * $size;
        const double tokens = policy_within(state->${role}_tokens[c], 0.0, full);
        const double cost = policy_${role}_cost(last, x, first);
        for (int i = first; i < first + $size; i++) {
            y[i] = x[i];
            if (cost > tokens) {
                y[i] = last[i] + fmax(tokens - 1.0, 0.0) / fmax(cost, 1.0) * (x[i] - last[i]);
            }
        }
        const double left = tokens - policy_${role}_cost(last, y, first) + rate;
        state->${role}_tokens[c] = left < full ? left : full;
    }
    for (int i = 0; i < $n; i++) {
        last[i] = y[i];
    }
}
"""


class Setting(NamedTuple):
    """A number of a rule that may be changed while the policy runs."""

    name: str
    about: str


def _as_double(value: float) -> tuple[str, str]:
    return "double", literal(np.float64(value))


def _as_units(value: float) -> tuple[str, str]:
    return "int64_t", str(bucket.units(value))


class RuleCode(NamedTuple):
    """A rule in C."""

    template: str
    settings: tuple[Setting, ...]
    as_field: Callable[[float], tuple[str, str]] = _as_double
    """From a setting to its type and value in C."""
    values: Callable[[Any, int], dict[str, Any]] = lambda rule, n: {}
    """From the rule and how many numbers it smooths to further values in the template."""
    macros: tuple[tuple[str, str], ...] = ()


def _buckets(rule: MovementLimit, n: int) -> dict[str, int]:
    """How many buckets there are, and how many numbers share one."""
    return {"buckets": n, "size": 1} if rule.per_dimension else {"buckets": 1, "size": n}


_PI, _ROOT = (literal(np.float64(value)) for value in (np.pi, np.sqrt(2)))

RULES: dict[type, RuleCode] = {
    Exponential: RuleCode(_EXPONENTIAL, (Setting("alpha", "share of the way; 1 is no filter"),)),
    Butterworth: RuleCode(
        _BUTTERWORTH,
        (Setting("cutoff", "2 * hertz * seconds of a step, below 1"),),
        values=lambda rule, n: {"pi": _PI, "root": _ROOT},
    ),
    DeadBand: RuleCode(_DEAD_BAND, (Setting("width", "share of the range; 0 is no filter"),)),
    RateLimit: RuleCode(
        _RATE_LIMIT, (Setting("rate", "share of the range per step; 1 is no limit"),)
    ),
    OneEuro: RuleCode(
        _ONE_EURO,
        (
            Setting("min_cutoff", "of slow movement, hertz * seconds of a step"),
            Setting("beta", "how much it rises with the speed"),
            Setting("speed_cutoff", "for the speed, hertz * seconds of a step"),
        ),
        values=lambda rule, n: {"pi": _PI},
    ),
    MovementLimit: RuleCode(
        _MOVEMENT_LIMIT,
        (
            Setting("rate", "movement per step, in millionths of the range; 1000000 is no limit"),
            Setting("burst", "the largest movement at once, in millionths of the range"),
        ),
        _as_units,
        _buckets,
        (("POLICY_TOKEN", f"{TOKEN}.0 /* the whole range, in millionths */"),),
    ),
}


def add_rule(code: CodeBuilder, rule: Rule, role: str, n: int) -> None:
    """Add the settings and functions of a rule.

    Args:
        code: Where they are added.
        rule: The rule.
        role: The beginning of their names, such as "filter".
        n: How many numbers it smooths.

    Raises:
        InputError: There is no C for this rule.
    """
    if type(rule) not in RULES:
        raise InputError(
            f"the filter {type(rule).__name__} cannot be written as C: export the policy as ONNX"
        )
    row = RULES[type(rule)]
    for setting in row.settings:
        kind, value = row.as_field(getattr(rule, setting.name))
        about = f"{setting.about}; setting"
        code.fields.append(StateField(kind, f"{role}_{setting.name}", value, about, lasts=True))
    code.macros.update(row.macros)
    code.use("within")
    code.add_function(row.template, role=role, n=n, **row.values(rule, n))
