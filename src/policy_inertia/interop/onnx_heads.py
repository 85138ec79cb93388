"""Policies whose actions have several heads as ONNX: outputs, and the comparison with a file.

Each head is built by the same functions as a single list of actions (`onnx_rules.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.masks import FORBIDDEN, is_forbidden
from policy_inertia.actions.per_head import chosen_scores
from policy_inertia.algorithms.interface import Acting
from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.errors import InputError
from policy_inertia.interop.description import ControllerDescription, PolicyDescription
from policy_inertia.interop.onnx_core import add_core
from policy_inertia.interop.onnx_discrete import (
    ROUNDING,
    TOLERANCE,
    nearly_tied,
    random_masks,
    random_prices,
    random_state,
)
from policy_inertia.interop.onnx_filters import Inputs, any_of, dwell_head, hysteresis
from policy_inertia.interop.onnx_form import MASKS, Form, Tensor
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_observations import observation_feed
from policy_inertia.interop.onnx_rules import (
    PRICE,
    add_core_head,
    allowed_rows,
    forbid,
    joined_outputs,
    mixed_policy,
    network_outputs,
    preferences,
    priced_inputs,
    repeat_or_follow,
)
from policy_inertia.interop.onnx_tokens import head_setting, token_level, tokens_after
from policy_inertia.policies.cores import Core
from policy_inertia.policies.head_filters import HeadBuckets, HeadHysteresis
from policy_inertia.policies.hysteresis import Hysteresis
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.probing import example_observations, gym_space
from policy_inertia.policies.switch_rules import HELD, HELD_ACTION, Dwell
from policy_inertia.policies.token_bucket import FORCED, TOKENS, TokenBucket


class _Head:
    """One head: its inputs, its scores and its choice, as names of results."""

    def __init__(self, inputs: Inputs, scores: str, choice: str) -> None:
        self.inputs, self.scores, self.choice = inputs, scores, choice
        self.log_pi = inputs.log_core


def _add(graph: GraphBuilder, policy: PolicyDescription) -> dict[str, str]:
    actions: Any = policy.spaces.actions
    places = range(len(actions.sizes))
    previous = [_columns(graph, PREVIOUS_ACTION, range(i, i + 1)) for i in places]
    start = graph.add("Less", previous[0], graph.integers([[0]]))
    values, fields = add_core(graph, policy, start)
    heads = []
    for part, n, last in zip(actions.parts, actions.sizes, previous, strict=True):
        own_places = range(part.start, part.stop)
        allowed = allowed_rows(graph, _columns(graph, MASKS, own_places)) if policy.masked else ""
        own = _columns(graph, values, own_places)
        log_pi, scores = add_core_head(graph, policy, own, n, allowed)
        repeat = graph.equals(last, n)
        forced = ""
        if allowed:
            forced = any_of(graph, graph.add("And", repeat, graph.add("Not", allowed)))
        inputs = Inputs(log_pi, last, repeat, start, n, (), allowed, forced)
        heads.append(_Head(inputs, scores, graph.best(log_pi)))
    if policy.controller is not None:
        _controlled(graph, policy.controller, heads)
    for rule in policy.filters:
        if type(rule) not in FILTERS:
            raise InputError(
                f"a policy with {type(rule).__name__} cannot be exported: export it without that "
                "filter"
            )
        fields |= FILTERS[type(rule)](graph, rule, heads)
    pi = [graph.add("Exp", head.log_pi) for head in heads]
    return {
        "action": _joined(graph, [head.choice for head in heads]),
        "probabilities": _joined(graph, pi),
        **{f"next_{name}": value for name, value in fields.items()},
    }


def _controlled(graph: GraphBuilder, controller: ControllerDescription, heads: list[_Head]) -> None:
    """Let a controller decide for each head."""
    if controller.rule not in CONTROLLERS:
        raise InputError("this controller around several heads cannot be exported: export its core")
    lasts = [graph.as_float(head.inputs.repeat) for head in heads]
    seen = [
        name
        for head in heads
        for name in preferences(
            graph, controller, head.scores, head.inputs.choices, head.inputs.allowed
        )
    ]
    CONTROLLERS[controller.rule](graph, controller, heads, [*seen, *lasts])
    for head in heads:
        head.choice = graph.best(head.log_pi)


def _mixtures(
    graph: GraphBuilder, controller: ControllerDescription, heads: list[_Head], seen: list[str]
) -> None:
    """`controllers.head_inertia.HeadInertia`: the mixture of each head."""
    (x,) = network_outputs(graph, controller, *seen)
    for d, head in enumerate(heads):
        own = _columns(graph, x, range(d, d + 1))
        outputs = mixed_policy(graph, controller.numbers["mu0"], own, head.inputs)
        head.log_pi = head.scores = outputs.log_pi


def _gates(
    graph: GraphBuilder, controller: ControllerDescription, heads: list[_Head], seen: list[str]
) -> None:
    """`controllers.head_gate.HeadGate`: each head repeats, or follows the core."""
    features, cost, margin = priced_inputs(graph, controller, graph.flat(heads[0].inputs.previous))
    u, end = joined_outputs(graph, controller, *seen, *features), 0
    for d, head in enumerate(heads):
        first, end = end, end + head.inputs.choices
        last = graph.as_float(head.inputs.repeat)
        own = graph.constant(controller.numbers.get(f"head_price_{d}", 1.0))
        price = graph.add("Mul", graph.add("Mul", cost, own), last)
        q = graph.add("Add", _columns(graph, u, range(first, end)), price)
        if margin:
            core = graph.one_hot(head.choice, head.inputs.choices)
            q = graph.add("Add", q, graph.add("Mul", margin, core))
        q = forbid(graph, q, head.inputs.allowed)
        outputs = repeat_or_follow(graph, controller, head.inputs, q, last)
        head.log_pi, head.scores = outputs.log_pi, q


def _plans(
    graph: GraphBuilder, controller: ControllerDescription, heads: list[_Head], seen: list[str]
) -> None:
    """`controllers.head_planner.HeadPlanner`: a gate for each head, within its tokens."""
    start, places = heads[0].inputs.start, range(len(heads))
    tokens = [""] * len(heads)
    if controller.limit is not None:
        tokens = [_columns(graph, TOKENS, range(i, i + 1)) for i in places]
    levels, can_switch = head_setting(graph, controller, start, tokens)
    u, end = joined_outputs(graph, controller, *seen, *levels), 0
    for head, moves in zip(heads, can_switch, strict=True):
        first, end = end, end + head.inputs.choices
        possible = graph.add("Or", graph.add("Or", head.inputs.repeat, start), moves)
        if head.inputs.forced:
            possible = graph.add("Or", possible, head.inputs.forced)
            possible = graph.add("And", possible, head.inputs.allowed)
        own = _columns(graph, u, range(first, end))
        q = graph.add("Where", possible, own, graph.constant(IMPOSSIBLE))
        last = graph.as_float(head.inputs.repeat)
        outputs = repeat_or_follow(graph, controller, head.inputs, q, last)
        head.log_pi, head.scores = outputs.log_pi, q


CONTROLLERS: dict[str, Callable[..., None]] = {
    "head-gate": _gates,
    "head-mixture": _mixtures,
    "head-plan": _plans,
}
"""Each changes the log-probabilities and scores of the heads, by `ControllerParts.rule`."""


def _columns(graph: GraphBuilder, rows: str, places: range) -> str:
    return graph.add("Gather", rows, graph.constant(list(places), np.int64), axis=1)


def _joined(graph: GraphBuilder, columns: list[str]) -> str:
    return graph.add("Concat", *columns, axis=1)


# --- filters ------------------------------------------------------------------------------------


def _hysteresis(graph: GraphBuilder, rule: HeadHysteresis, heads: list[_Head]) -> dict[str, str]:
    """`HeadHysteresis.step`."""
    thresholds = np.broadcast_to(rule.threshold, len(heads)).tolist()
    for head, threshold in zip(heads, thresholds, strict=True):
        own = Hysteresis(threshold)
        head.choice, _ = hysteresis(graph, own, head.inputs, head.choice, head.scores)
    return {}


def _bucket(graph: GraphBuilder, rule: TokenBucket, heads: list[_Head]) -> dict[str, str]:
    """`TokenBucket.step`: one bucket for all heads."""
    start = heads[0].inputs.start
    tokens = token_level(graph, rule.limit, start)
    switched = any_of(graph, _joined(graph, [_switched(graph, head) for head in heads]))
    cost = _cost(graph, switched)
    stuck = graph.add("Less", tokens, cost)
    fields: dict[str, str] = {}
    if rule.masked:
        forbidden = any_of(graph, _joined(graph, [head.inputs.forced for head in heads]))
        forced = graph.add("And", stuck, forbidden)
        cost, stuck = _forced(graph, tokens, cost, stuck, forced)
        fields[FORCED] = _counted(graph, start, forced)
    for head in heads:
        head.choice = graph.add("Where", stuck, head.inputs.previous, head.choice)
    cost = graph.add("Where", stuck, graph.integers([[0]]), cost)
    return {TOKENS: graph.flat(tokens_after(graph, rule.limit, tokens, cost)), **fields}


def _buckets(graph: GraphBuilder, rule: HeadBuckets, heads: list[_Head]) -> dict[str, str]:
    """`HeadBuckets.step`: a bucket for each head."""
    start, left, all_forced = heads[0].inputs.start, [], []
    for i, head in enumerate(heads):
        tokens = token_level(graph, rule.limit, start, _columns(graph, TOKENS, range(i, i + 1)))
        cost = _cost(graph, _switched(graph, head))
        stuck = graph.add("Less", tokens, cost)
        if rule.masked:
            forced = graph.add("And", stuck, head.inputs.forced)
            cost, stuck = _forced(graph, tokens, cost, stuck, forced)
            all_forced.append(forced)
        head.choice = graph.add("Where", stuck, head.inputs.previous, head.choice)
        cost = graph.add("Where", stuck, graph.integers([[0]]), cost)
        left.append(tokens_after(graph, rule.limit, tokens, cost))
    fields = {FORCED: _counted(graph, start, *all_forced)} if rule.masked else {}
    return {TOKENS: _joined(graph, left), **fields}


def _switched(graph: GraphBuilder, head: _Head) -> str:
    same = graph.add("Equal", head.choice, head.inputs.previous)
    return graph.add("Not", graph.add("Or", same, head.inputs.start))


def _cost(graph: GraphBuilder, switched: str) -> str:
    return graph.add("Where", switched, graph.integers([[TOKEN]]), graph.integers([[0]]))


def _forced(
    graph: GraphBuilder, tokens: str, cost: str, stuck: str, forced: str
) -> tuple[str, str]:
    """The cost of a forced switch is what is left, and nothing is stuck there."""
    cost = graph.add("Where", forced, tokens, cost)
    return cost, graph.add("And", stuck, graph.add("Not", forced))


def _counted(graph: GraphBuilder, start: str, *forced: str) -> str:
    """The forced switches of the episode, with those of this step."""
    count = graph.add("Where", start, graph.integers([[0]]), graph.column(FORCED))
    for one in forced:
        new = graph.add("Where", one, graph.integers([[1]]), graph.integers([[0]]))
        count = graph.add("Add", count, new)
    return graph.flat(count)


def _dwell(graph: GraphBuilder, rule: Dwell, heads: list[_Head]) -> dict[str, str]:
    """`Dwell.step`, for each head."""
    runs = []
    for i, head in enumerate(heads):
        place = range(i, i + 1)
        memory = (_columns(graph, name, place) for name in (HELD, HELD_ACTION))
        head.choice, run = dwell_head(graph, rule, head.inputs, head.choice, *memory)
        runs.append(run)
    previous = _joined(graph, [head.inputs.previous for head in heads])
    return {HELD: _joined(graph, runs), HELD_ACTION: previous}


FILTERS: dict[type, Callable[[GraphBuilder, Any, list[_Head]], dict[str, str]]] = {
    HeadHysteresis: _hysteresis,
    TokenBucket: _bucket,
    HeadBuckets: _buckets,
    Dwell: _dwell,
}
"""Each changes the choices of the heads and returns its own fields."""


# --- the file -----------------------------------------------------------------------------------


def _outputs(policy: PolicyDescription) -> dict[str, Tensor]:
    actions = policy.spaces.actions
    return {
        "action": Tensor(np.int64, actions.shape),
        "probabilities": Tensor(np.float32, (actions.width,)),
    }


def _metadata(policy: PolicyDescription) -> dict[str, Any]:
    actions: Any = policy.spaces.actions
    return {"first_action": list(actions.firsts), "n_actions": json.dumps(actions.sizes)}


def compare(
    policy: Any, description: PolicyDescription, path: Path, data: bytes, n: int
) -> tuple[float, int]:
    """Compare a file with its policy on `n` random inputs; see `onnx_discrete.compare`.

    Raises:
        InputError: The file and the policy differ.
    """
    core = getattr(policy.spaces, "core", policy)
    space = getattr(core, "space", None) or gym_space(description.spaces)
    obs, state = example_observations(space, n), random_state(policy, n)
    masks = random_masks(description, n)
    feed = {**observation_feed(description.spaces, obs), **state, **masks}
    if isinstance(policy, Core):
        acting = policy.consult(obs, state, **masks).acting
    else:
        if description.controller is not None and description.controller.price_input:
            feed[PRICE] = random_prices(policy, n)
            policy = policy.at(feed[PRICE])
        encoded, _ = policy.spaces.encode_with(obs, state, masks.get(MASKS))
        acting = policy.acting(encoded, state[PREVIOUS_ACTION], policy.tokens(state))
    action, new_state = policy.predict(obs, state, deterministic=True, **masks)
    expected = {f"next_{name}": rows for name, rows in new_state.items() if name != PREVIOUS_ACTION}
    names = ["action", "probabilities", *expected]
    theirs, their_pi, *fields = session(path, data).run(names, feed)
    gaps = abs(np.exp(acting.policy.log_pi) - their_pi).max(1)
    differ = (policy.spaces.actions.from_env(action) != theirs).any(1)
    for ours, other in zip(expected.values(), fields, strict=True):
        if ours.dtype.kind == "f":  # what a core remembers
            gaps = np.maximum(gaps, abs(ours - other).reshape(n, -1).max(1))
        else:
            differ |= (ours != other).reshape(n, -1).any(1)
    near = _ties(policy, np.asarray(acting.scores), state[PREVIOUS_ACTION])
    if description.controller is not None:  # it compares repeating with the core's action
        output = description.core_output(obs, state)
        near |= _near_gates(policy, acting, output, state[PREVIOUS_ACTION])
    difference, wrong = float(gaps[~near].max(initial=0)), int((differ & ~near).sum())
    if not difference <= TOLERANCE or wrong:
        raise InputError(
            f"the ONNX graph differs from {policy} by {difference:.1e} and in {wrong} of {n} "
            "actions: nothing was written, so please report it"
        )
    return difference, int(differ.sum())


def _ties(policy: Any, scores: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """The rows in which rounding may decide which action some head takes."""
    actions = policy.spaces.actions
    near = np.zeros(len(scores), bool)
    for part in actions.parts:
        near |= nearly_tied(scores[:, part])
    if policy.hysteresis is not None:
        best = np.stack([scores[:, part].max(1) for part in actions.parts], 1)
        last = chosen_scores(scores, previous, actions)
        edge = abs(best - last - np.asarray(policy.hysteresis)) <= ROUNDING * (1 + abs(best))
        near |= edge.any(1)
    return near


def _near_gates(
    policy: Any, acting: Acting, output: np.ndarray, previous: np.ndarray
) -> np.ndarray:
    """The rows in which rounding may decide whether some head repeats, or what its core does."""
    actions, core = policy.spaces.actions, acting.core.mode()
    near = np.zeros(len(output), bool)
    output = np.where(is_forbidden(acting.core.log_pi), FORBIDDEN, output)
    for part in actions.parts:
        near |= nearly_tied(output[:, part])
    repeat, follow = (chosen_scores(acting.scores, a, actions) for a in (previous, core))
    edge = (previous != core) & (abs(repeat - follow) <= ROUNDING * (1 + abs(follow)))
    return np.asarray(near | edge.any(1))


FORM = Form(_add, _outputs, _metadata, compare)
