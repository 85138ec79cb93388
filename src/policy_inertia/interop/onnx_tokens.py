"""A limit on switching as ONNX nodes: the bucket of tokens, and critics that plan with it."""

from __future__ import annotations

import numpy as np

from policy_inertia.actions.bucket import TOKEN, Limit, units
from policy_inertia.algorithms.controllers import limit_draws
from policy_inertia.algorithms.controllers.token_costs import TokenCosts
from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.interop.description import ControllerDescription
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_layers import add_network, twin_values
from policy_inertia.policies.token_bucket import TOKENS

_OF_LIMIT = (slice(0, 2), slice(4, 5))
"""The columns of `limit_draws.features` that depend on the rate alone, and on the burst alone."""


def token_level(graph: GraphBuilder, limit: Limit, start: str, column: str = "") -> str:
    """The tokens before a step, as a column; a full bucket at the start.

    In Python a state is put back at the start of an episode, here the previous action tells it.
    `column` holds the tokens, where there are several buckets.
    """
    full = graph.integers([[limit.burst_units]])
    tokens = graph.add("Min", column or graph.column(TOKENS), full)
    return tokens if limit.carry_over else graph.add("Where", start, full, tokens)


def tokens_after(graph: GraphBuilder, limit: Limit, tokens: str, cost: str) -> str:
    """`bucket.after`, as a column."""
    left = graph.add("Sub", tokens, cost)
    left = graph.add("Add", left, graph.integers([[limit.rate_units]]))
    return graph.add("Min", left, graph.integers([[limit.burst_units]]))


def plan_values(
    graph: GraphBuilder,
    controller: ControllerDescription,
    observation: str,
    repeat: str,
    start: str,
    actions: int,
    seen: tuple[str, ...],
    forced: str = "",
) -> str:
    """`TokenPlanner._values`: Q(s, a_prev, .) with the tokens that are left.

    Args:
        graph: Where nodes are added.
        controller: The critics and the limit.
        observation: Name of the observation.
        repeat: (B, A) booleans: whether an action is the previous one.
        start: (B, 1) booleans: whether there is no previous action.
        actions: A, the number of actions.
        seen: What the critics see behind the features of the observation.
        forced: (B, 1) booleans: where the previous action is forbidden; empty without masks.
    """
    full = units(controller.numbers["largest_burst"])
    if controller.costs is not None:
        return _costly_values(graph, controller, observation, repeat, start, actions, seen, forced)
    keep, switch, is_open = _setting(graph, controller.limit, full, repeat, start, bool(forced))
    twins = []
    for features, head in controller.networks:
        joined = graph.add("Concat", add_network(graph, features, observation), *seen, axis=1)
        # one pass for both levels of tokens: the weights are stored once
        rows = graph.add("Concat", joined, joined, axis=0)
        levels = graph.add("Concat", keep, switch, axis=0)
        twins.append(add_network(graph, head, graph.add("Concat", rows, levels, axis=1)))
    both = twin_values(graph, twins, controller.mean)
    both = graph.add("Reshape", both, graph.integers([2, -1, actions]))
    keeps_to, switches_to = (
        graph.add("Gather", both, graph.constant(k, np.int64), axis=0) for k in (0, 1)
    )
    keeps = graph.add("Or", repeat, start)
    q = graph.add("Where", keeps, keeps_to, switches_to)
    possible = graph.add("Or", keeps, is_open)
    if forced:
        possible = graph.add("Or", possible, forced)
    return graph.add("Where", possible, q, graph.constant(IMPOSSIBLE))


def head_setting(
    graph: GraphBuilder, controller: ControllerDescription, start: str, tokens: list[str]
) -> tuple[list[str], list[str]]:
    """`HeadPlanner._setting`: what networks see of each bucket, and which heads have a token.

    Args:
        graph: Where nodes are added.
        controller: The critics and the limit.
        start: (B, 1) booleans: whether there is no previous action.
        tokens: (B, 1) the tokens of each head; unused without a limit.
    """
    limit, full = controller.limit, units(controller.numbers["largest_burst"])
    seen = [_free_features(graph, full, start)] * len(tokens)
    if limit is None:
        everywhere = graph.add("Or", start, graph.add("Not", start))
        return seen, [everywhere] * len(tokens)
    levels = [token_level(graph, limit, start, column) for column in tokens]
    if limit.rate_units < TOKEN:
        seen = [_features(graph, limit, full, level) for level in levels]
    token = graph.integers([[TOKEN]])
    return seen, [graph.add("GreaterOrEqual", level, token) for level in levels]


def _setting(
    graph: GraphBuilder, limit: Limit | None, full: int, repeat: str, start: str, masked: bool
) -> tuple[str, str, str]:
    """`TokenPlanner._setting`: features after repeating and after switching, and what is open."""
    if limit is None:
        free = _free_features(graph, full, repeat)
        everywhere = graph.add("Not", graph.add("And", repeat, graph.add("Not", repeat)))
        return free, free, everywhere
    tokens = token_level(graph, limit, start)
    is_open = graph.add("GreaterOrEqual", tokens, graph.integers([[TOKEN]]))
    if limit.rate_units == TOKEN:
        free = _free_features(graph, full, repeat)
        return free, free, is_open
    left = [tokens_after(graph, limit, tokens, graph.integers([[cost]])) for cost in (0, TOKEN)]
    if masked:  # a forced switch takes what is left
        left = [graph.add("Max", tokens, graph.integers([[0]])) for tokens in left]
    keep, switch = (_features(graph, limit, full, tokens) for tokens in left)
    return keep, switch, is_open


def _costly_values(
    graph: GraphBuilder,
    controller: ControllerDescription,
    observation: str,
    repeat: str,
    start: str,
    actions: int,
    seen: tuple[str, ...],
    forced: str,
) -> str:
    """`plan_values` where switches take different numbers of tokens."""
    limit, full = controller.limit, units(controller.numbers["largest_burst"])
    costs = TokenCosts.of(controller.costs, actions)
    assert costs is not None
    tokens = None if limit is None else token_level(graph, limit, start)
    inputs = []
    for level in costs.levels.tolist():
        if limit is None or tokens is None:
            inputs.append(_free_features(graph, full, repeat, costs.unit))
            continue
        left = tokens_after(graph, limit, tokens, graph.integers([[level]]))
        left = graph.add("Max", left, graph.integers([[0]])) if forced else left
        inputs.append(_features(graph, limit, full, left, costs.unit))
    levels, twins = graph.add("Concat", *inputs, axis=0), []
    for features, head in controller.networks:
        joined = graph.add("Concat", add_network(graph, features, observation), *seen, axis=1)
        rows = graph.add("Concat", *[joined] * len(inputs), axis=0)
        twins.append(add_network(graph, head, graph.add("Concat", rows, levels, axis=1)))
    u = twin_values(graph, twins, controller.mean)
    u = graph.add("Reshape", u, graph.integers([len(inputs), -1, actions]))
    q = graph.add("Gather", u, graph.constant(0, np.int64), axis=0)
    for k, level in enumerate(costs.levels.tolist()[1:], 1):
        after = graph.add("Gather", u, graph.constant(k, np.int64), axis=0)
        if tokens is not None:
            can_pay = graph.add("GreaterOrEqual", tokens, graph.integers([[level]]))
            can_pay = graph.add("Or", can_pay, forced) if forced else can_pay
            after = graph.add("Where", can_pay, after, graph.constant(IMPOSSIBLE))
        takes = graph.constant(costs.level[:-1] == k)
        takes = graph.add("MatMul", graph.as_float(repeat), takes)
        q = graph.add("Where", graph.add("Greater", takes, graph.constant(0.5)), after, q)
    return q


def _free_features(graph: GraphBuilder, full: int, repeat: str, unit: int = TOKEN) -> str:
    """`limit_draws.features` without a limit: the same row for each env."""
    row = limit_draws.features(np.array([full]), unit, full, full, np, unit)
    zeros = graph.row_sum(graph.add("Mul", graph.as_float(repeat), graph.constant(0.0)))
    return graph.add("Add", zeros, graph.constant(row))


def _features(graph: GraphBuilder, limit: Limit, full: int, tokens: str, unit: int = TOKEN) -> str:
    """`limit_draws.features` of a column of tokens."""
    capped = graph.add("Min", tokens, graph.integers([[full]]))
    t = graph.add("Mul", graph.as_float(capped), graph.constant(1 / unit))
    rate_and_burst = limit.rate_units, limit.burst_units
    row = limit_draws.features(np.array([full]), *rate_and_burst, full, np, unit)
    zeros = graph.add("Mul", t, graph.constant(0.0))
    rate, burst = (graph.add("Add", zeros, graph.constant(row[:, at])) for at in _OF_LIMIT)
    waits, horizons = np.array(limit_draws.WAITS).T
    missing = graph.add("Sub", graph.constant(waits[None]), t)
    missing = graph.add("Max", missing, graph.constant(0.0))
    earned = graph.constant(horizons[None] * limit.rate_units / unit + 1e-6)
    soon = graph.add("Div", earned, graph.add("Add", missing, earned))
    return graph.add(
        "Concat",
        rate,
        graph.add("Div", t, graph.constant(full / unit)),
        graph.as_float(graph.add("GreaterOrEqual", capped, graph.integers([[unit]]))),
        burst,
        soon,
        axis=1,
    )
