"""Policies with continuous actions as ONNX: core, filters, and the comparison with a file.

Networks are float32, everything behind them is float64, as in Python. The previous action is the
env's own; NaN in it stands for the start of an episode.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.actions.box import Box
from policy_inertia.errors import InputError
from policy_inertia.interop.description import PolicyDescription
from policy_inertia.interop.onnx_arrays import GraphArray, as_result
from policy_inertia.interop.onnx_box_controllers import add_controller
from policy_inertia.interop.onnx_form import OBSERVATION, Form, Tensor
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_layers import add_network
from policy_inertia.interop.onnx_observations import observation_feed
from policy_inertia.policies.action_filters.action_filter import ActionFilter
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.probing import example_observations, gym_space

ROUNDING = 1e-5
"""How much float32 may change the core's action, as a share of half the range."""
MOST_TIES = 0.01
"""The share of random inputs at which a controller may decide otherwise, because of rounding."""
DRAWS = 30
"""Random changes by `ROUNDING`, to see what they do behind the filters."""


def _add(graph: GraphBuilder, policy: PolicyDescription) -> dict[str, str]:
    actions: Any = policy.spaces.actions
    previous: Any = _scaled(graph, actions, PREVIOUS_ACTION)
    start = np.isnan(previous.row_sum())
    action: Any = _scaled(graph, actions, add_network(graph, policy.core, OBSERVATION))
    # without a number there is no action: repeat the last one, or take the middle
    action = np.where(np.isnan(action), np.where(start, 0, previous), action)
    action = np.clip(action, -1, 1)
    previous = np.where(start, np.nan, np.clip(previous, -1, 1))
    if policy.controller is not None:
        action = add_controller(graph, policy.controller, action, previous, start)
    fields: dict[str, str] = {}
    for rule in policy.filters:
        action, own = _filter(graph, rule, action, previous)
        fields |= {f"next_{name}": value.name for name, value in own.items()}
    values = np.clip(actions.middle + actions.half_range * action, actions.low, actions.high)
    shape = graph.integers([-1, *actions.env_shape])
    taken = graph.add("Reshape", graph.cast(values.name, actions.precision), shape)
    return {"action": taken, **fields}


def _scaled(graph: GraphBuilder, actions: Box, values: str) -> GraphArray:
    """The env's actions as rows of numbers from -1 to 1."""
    d = len(actions.low)
    rows = graph.add("Reshape", graph.cast(values, np.float64), graph.integers([-1, d]))
    return (GraphArray(graph, rows, d) - actions.middle) / actions.half_range


def _filter(
    graph: GraphBuilder, rule: Any, action: GraphArray, previous: GraphArray
) -> tuple[GraphArray, dict[str, GraphArray]]:
    """`ActionFilter.step`, by the functions that it calls itself."""
    if not isinstance(rule, ActionFilter):
        raise InputError(
            f"a policy with {type(rule).__name__} cannot be exported: export it without that filter"
        )
    memory = {name: GraphArray(graph, name, width) for name, width in rule.widths.items()}
    if not len(rule.touched):
        return action, memory
    x, last = action.columns(rule.touched), previous.columns(rule.touched)
    fresh = np.isnan(sum((rows.row_sum() for rows in memory.values()), previous.row_sum()))
    apply: Any = rule.apply
    started: Any = rule.start(x, last)  # type: ignore[arg-type]
    y, memory = apply(x, {name: np.where(fresh, started[name], memory[name]) for name in memory})
    own = {name: as_result(graph, rows) for name, rows in memory.items()}
    return action.with_columns(rule.touched, y), own


def _outputs(policy: PolicyDescription) -> dict[str, Tensor]:
    actions: Any = policy.spaces.actions
    return {"action": Tensor(actions.precision, actions.env_shape)}


def _metadata(policy: PolicyDescription) -> dict[str, Any]:
    actions: Any = policy.spaces.actions
    return {"low": json.dumps(actions.low), "high": json.dumps(actions.high)}


def compare(
    policy: ContinuousCore, description: PolicyDescription, path: Path, data: bytes, n: int
) -> tuple[float, int]:
    """Compare a file with its policy on `n` random inputs.

    Returns:
        The largest difference of an action, as a share of half its range, and in how many rows
        rounding decides, such as at the edge of a dead band. Those rows are not part of the first
        number.

    Raises:
        InputError: The file and the policy differ by more than rounding.
    """
    if description.controller is not None:
        return _compare_controlled(policy, description, path, data, n)
    actions = policy.actions
    obs, state = example_observations(policy.space, n), _random_state(policy, n)
    feed = {
        **observation_feed(description.spaces, obs),
        **state,
        PREVIOUS_ACTION: actions.to_env(state[PREVIOUS_ACTION]),
    }
    low, high = _bands(policy, policy.output(obs), state)
    memory = [name for name in low if name != PREVIOUS_ACTION]
    taken, *rows = session(path, data).run(["action", *(f"next_{name}" for name in memory)], feed)
    scaled = (taken.reshape(n, -1) - actions.middle) / actions.half_range
    theirs = {PREVIOUS_ACTION: scaled, **dict(zip(memory, rows, strict=True))}
    outside = np.zeros(n, bool)
    for name, values in theirs.items():
        slack = ROUNDING * (1 + np.maximum(abs(low[name]), abs(high[name])))
        inside = (values >= low[name] - slack) & (values <= high[name] + slack)
        outside |= ~inside.all(1)
    ours = actions.from_env(policy.predict(obs, state)[0])
    gaps = abs(ours - scaled).max(1)
    decides = (high[PREVIOUS_ACTION] - low[PREVIOUS_ACTION]).max(1) > 10 * ROUNDING
    difference = float(gaps[~decides].max(initial=0))
    if outside.any():
        raise InputError(
            f"the ONNX graph differs from {policy} by {gaps.max():.1e} and in {outside.sum()} of "
            f"{n} rows: nothing was written, so please report it"
        )
    return difference, int((gaps[decides] > 10 * ROUNDING).sum())


def _compare_controlled(
    policy: Any, description: PolicyDescription, path: Path, data: bytes, n: int
) -> tuple[float, int]:
    """The same for a policy with a controller, which may decide by a hair; see `compare`."""
    actions: Any = policy.spaces.actions
    obs = example_observations(gym_space(policy.spaces), n)
    state = _random_state(policy, n)
    previous = {**state, PREVIOUS_ACTION: actions.to_env(state[PREVIOUS_ACTION])}
    feed = {**observation_feed(description.spaces, obs), **previous}
    (taken,) = session(path, data).run(["action"], feed)
    scaled = (taken.reshape(n, -1) - actions.middle) / actions.half_range
    gaps = abs(actions.from_env(policy.predict(obs, state, deterministic=True)[0]) - scaled).max(1)
    differs = gaps > 10 * ROUNDING
    if differs.mean() > MOST_TIES:
        raise InputError(
            f"the ONNX graph differs from {policy} by {gaps.max():.1e} and in {differs.sum()} of "
            f"{n} rows: nothing was written, so please report it"
        )
    return float(gaps[~differs].max(initial=0)), int(differs.sum())


def _random_state(policy: ContinuousCore, n: int) -> State:
    """States in the middle of episodes, at their start, and at hand-overs."""
    rng = np.random.default_rng(1)
    state = policy.memory.sample(rng, n)
    handed = {**policy.memory.initial(n), PREVIOUS_ACTION: state[PREVIOUS_ACTION]}
    kind = rng.random(n)[:, None]
    mixed = {name: np.where(kind < 0.25, handed[name], rows) for name, rows in state.items()}
    return policy.memory.reset(mixed, kind[:, 0] > 0.75)


def _bands(policy: ContinuousCore, action: np.ndarray, state: State) -> tuple[State, State]:
    """What actions and memory are at least and at most if rounding changes the core's actions."""
    rng = np.random.default_rng(2)
    outcomes = []
    for draw in range(DRAWS):
        change = ROUNDING * rng.uniform(-1, 1, action.shape) if draw else 0.0
        outcomes.append(policy.filtered(np.clip(action + change, -1, 1), state))
    names = outcomes[0]
    low, high = (
        {name: reduce([outcome[name] for outcome in outcomes], 0) for name in names}
        for reduce in (np.min, np.max)
    )
    return low, high


FORM = Form(_add, _outputs, _metadata, compare)
