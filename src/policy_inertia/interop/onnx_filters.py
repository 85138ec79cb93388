"""The filters of Discrete actions as ONNX nodes, one row each in `FILTERS`.

The tests hold every row against the NumPy function that it repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.switching import CostlyDiscrete
from policy_inertia.errors import InputError
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_tokens import token_level, tokens_after
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import REMAINING, Filter, Hold
from policy_inertia.policies.switch_rules import HELD, HELD_ACTION, CostHysteresis, Dwell
from policy_inertia.policies.token_bucket import FORCED, TOKENS, TokenBucket


class Inputs(NamedTuple):
    """Names of intermediate results that rules and filters use."""

    log_core: str
    """(B, C) the core's log-probabilities of its choices."""
    previous: str
    """(B, 1) the previous action."""
    repeat: str
    """(B, C) booleans: whether a choice is the previous action."""
    start: str
    """(B, 1) booleans: whether there is no previous action."""
    choices: int
    """C, the number of choices: actions, times numbers of steps to hold them."""
    seen: tuple[str, ...]
    """What a controller's networks see behind the features of the observation: the core's
    preferences if it was trained with them, and a_prev's one-hot."""
    allowed: str = ""
    """(B, C) booleans: what the action mask allows; empty if there is none."""
    forced: str = ""
    """(B, 1) booleans: whether the mask forbids the previous action; empty if there is none."""


def any_of(graph: GraphBuilder, x: str) -> str:
    """Whether a row of booleans has a true one, as a column."""
    return graph.add("Greater", graph.row_sum(graph.as_float(x)), graph.constant(0.0))


FilterNodes = Callable[[GraphBuilder, Any, Inputs, str, str], tuple[str, dict[str, str]]]
"""From graph, filter, inputs, choice (B, 1) and scores to the action (B, 1) and its own fields."""


def hysteresis(
    graph: GraphBuilder, rule: Hysteresis, inputs: Inputs, choice: str, scores: str
) -> tuple[str, dict[str, str]]:
    """`hysteresis.apply_hysteresis`: the choice if it is better by the threshold."""
    chosen = graph.one_hot(choice, inputs.choices)
    change = graph.add("Sub", chosen, graph.as_float(inputs.repeat))
    gain = graph.row_sum(graph.add("Mul", scores, change))
    better = graph.add("GreaterOrEqual", gain, graph.constant(rule.threshold))
    taken = graph.add("Or", inputs.start, better)
    if inputs.forced:
        taken = graph.add("Or", taken, inputs.forced)
    return graph.add("Where", taken, choice, inputs.previous), {}


def hold(
    graph: GraphBuilder, rule: Hold, inputs: Inputs, choice: str, scores: str
) -> tuple[str, dict[str, str]]:
    """`memory.Hold.step`: an action, held for the chosen number of steps."""
    durations = graph.integers([len(rule.repeats)])
    action = graph.add("Div", choice, durations)
    index = graph.add("Mod", choice, durations)
    steps = graph.add("Gather", graph.integers(rule.repeats), index)
    remaining = graph.column(REMAINING)
    idle = graph.add("Equal", remaining, graph.integers([0]))
    idle = graph.add("Or", idle, inputs.start)
    left = graph.add("Where", idle, steps, remaining)
    left = graph.add("Sub", left, graph.integers([1]))
    return graph.add("Where", idle, action, inputs.previous), {REMAINING: left}


def token_bucket(
    graph: GraphBuilder, rule: TokenBucket, inputs: Inputs, choice: str, scores: str
) -> tuple[str, dict[str, str]]:
    """`token_bucket.TokenBucket.step`: repeat where there is no token."""
    tokens = token_level(graph, rule.limit, inputs.start)
    same = graph.add("Or", graph.add("Equal", choice, inputs.previous), inputs.start)
    full_cost = _switch_cost(graph, rule, inputs, choice)
    cost = graph.add("Where", same, graph.integers([[0]]), full_cost)
    stuck = graph.add("Less", tokens, cost)
    fields: dict[str, str] = {}
    if inputs.forced:
        forced = graph.add("And", stuck, inputs.forced)
        cost = graph.add("Where", forced, tokens, cost)  # what is left
        stuck = graph.add("And", stuck, graph.add("Not", forced))
        before = graph.add("Where", inputs.start, graph.integers([[0]]), graph.column(FORCED))
        one = graph.add("Where", forced, graph.integers([[1]]), graph.integers([[0]]))
        fields[FORCED] = graph.add("Add", before, one)
    action = graph.add("Where", stuck, inputs.previous, choice)
    cost = graph.add("Where", stuck, graph.integers([[0]]), cost)
    return action, {TOKENS: tokens_after(graph, rule.limit, tokens, cost), **fields}


def _switch_cost(graph: GraphBuilder, rule: TokenBucket, inputs: Inputs, choice: str) -> str:
    """What a switch takes: one token, or what `CostlyDiscrete` says."""
    if not isinstance(rule.actions, CostlyDiscrete):
        return graph.integers([[TOKEN]])
    row = graph.add("Max", inputs.previous, graph.integers([[0]]))
    place = graph.add("Mul", row, graph.integers([[inputs.choices]]))
    place = graph.add("Add", place, choice)
    return graph.add("Gather", graph.integers(rule.actions.units.ravel().tolist()), place)


def cost_hysteresis(
    graph: GraphBuilder, rule: CostHysteresis, inputs: Inputs, choice: str, scores: str
) -> tuple[str, dict[str, str]]:
    """`CostHysteresis.step`: the choice if it is worth its cost, or the best after its cost."""
    last = graph.as_float(inputs.repeat)
    worth = graph.add("Sub", scores, graph.add("MatMul", last, graph.constant(rule.prices)))
    chosen = graph.row_sum(graph.add("Mul", worth, graph.one_hot(choice, inputs.choices)))
    repeated = graph.row_sum(graph.add("Mul", scores, last))
    taken = graph.add("Or", inputs.start, graph.add("GreaterOrEqual", chosen, repeated))
    if inputs.forced:
        taken = graph.add("Or", taken, inputs.forced)
    return graph.add("Where", taken, choice, graph.best(worth)), {}


def dwell(
    graph: GraphBuilder, rule: Dwell, inputs: Inputs, choice: str, scores: str
) -> tuple[str, dict[str, str]]:
    """`Dwell.step`: repeat until the action was held for long enough."""
    columns = graph.column(HELD), graph.column(HELD_ACTION)
    action, run = dwell_head(graph, rule, inputs, choice, *columns)
    return action, {HELD: run, HELD_ACTION: inputs.previous}


def dwell_head(
    graph: GraphBuilder, rule: Dwell, inputs: Inputs, choice: str, held: str, held_action: str
) -> tuple[str, str]:
    """The action of one head, and for how long its previous one was held; all are columns."""
    one = graph.integers([[1]])
    same = graph.add("Equal", inputs.previous, held_action)
    run = graph.add("Where", same, graph.add("Add", held, one), one)
    short = graph.add("Less", run, graph.integers([[rule.steps]]))
    stuck = graph.add("And", short, graph.add("Not", inputs.start))
    if inputs.forced:
        stuck = graph.add("And", stuck, graph.add("Not", inputs.forced))
    return graph.add("Where", stuck, inputs.previous, choice), run


FILTERS: dict[type, FilterNodes] = {
    Hysteresis: hysteresis,
    Hold: hold,
    TokenBucket: token_bucket,
    CostHysteresis: cost_hysteresis,
    Dwell: dwell,
}


def filter_nodes(rule: Filter) -> FilterNodes:
    """How a filter becomes nodes.

    Raises:
        InputError: Nobody has written it.
    """
    if type(rule) not in FILTERS:
        raise InputError(
            f"a policy with {type(rule).__name__} cannot be exported: export it without that filter"
        )
    return FILTERS[type(rule)]
