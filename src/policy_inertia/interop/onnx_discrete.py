"""Policies with a finite list of actions as ONNX: outputs, and the comparison with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.errors import InputError
from policy_inertia.interop.description import PolicyDescription
from policy_inertia.interop.onnx_form import MASKS, Form, Tensor
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_observations import observation_feed
from policy_inertia.interop.onnx_rules import PRICE, add_policy
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION, State
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import example_observations, gym_space
from policy_inertia.policies.switch_rules import CostHysteresis

TOLERANCE = 1e-4  # of probabilities and inertia, absolute
ROUNDING = 1e-5  # relative; closer scores count as ties


def _add(graph: GraphBuilder, policy: PolicyDescription) -> dict[str, str]:
    example = np.zeros((1, *policy.spaces.obs_shape), np.float32)
    return add_policy(graph, policy, policy.core_output(example).shape[1])


def _outputs(policy: PolicyDescription) -> dict[str, Tensor]:
    return {
        "action": Tensor(np.int64, ()),
        "probabilities": Tensor(np.float32, (policy.spaces.discrete.n,)),
        "inertia": Tensor(np.float32, ()),
    }


def _metadata(policy: PolicyDescription) -> dict[str, Any]:
    actions = policy.spaces.discrete
    return {"first_action": actions.first, "n_actions": actions.n}


def compare(
    policy: Policy | Core, description: PolicyDescription, path: Path, data: bytes, n: int
) -> tuple[float, int]:
    """Compare a file with its policy on `n` random inputs.

    Returns:
        The largest difference of a number, and how many actions differ. Actions may differ only
        where two of them are equally good up to rounding.

    Raises:
        InputError: The file and the policy differ.
    """
    name = str(policy)
    space = policy.space if isinstance(policy, Core) else gym_space(policy.spaces)
    obs = example_observations(space, n)
    state = random_state(policy, n)
    previous = state[PREVIOUS_ACTION]
    feed = {
        **observation_feed(description.spaces, obs),
        **state,
    }
    masks = random_masks(description, n)
    feed |= masks
    if isinstance(policy, Core):
        acting = policy.consult(obs, state, **masks).acting
    else:
        if description.controller is not None and description.controller.price_input:
            feed[PRICE] = random_prices(policy, n)
            policy = policy.at(feed[PRICE])
        encoded, _ = policy.spaces.encode_with(obs, state, masks.get(MASKS))
        acting = policy.acting(encoded, previous, policy.tokens(state))
    action, new_state = policy.predict(obs, state, deterministic=True, **masks)
    action = policy.spaces.actions.from_env(action)
    expected = {f"next_{name}": rows for name, rows in new_state.items() if name != PREVIOUS_ACTION}
    names = ["action", "probabilities", "inertia", *expected]
    their_action, their_pi, their_mu, *fields = session(path, data).run(names, feed)

    pi = np.exp(acting.policy.log_pi).reshape(n, policy.spaces.discrete.n, -1).sum(2)
    gaps = np.maximum(abs(pi - their_pi).max(1), abs(acting.mu - their_mu))
    differ = action != their_action
    for ours, theirs in zip(expected.values(), fields, strict=True):
        if ours.dtype.kind == "f":  # what a core remembers
            gaps = np.maximum(gaps, abs(ours - theirs).reshape(n, -1).max(1))
        else:
            differ |= ours != theirs
    scores = np.asarray(acting.scores)
    output = description.core_output(obs, state)
    near = _ties(policy, description, output, previous, scores, acting.core.mode())
    difference = float(gaps[~near].max(initial=0))
    wrong = int((differ & ~near).sum())
    if not difference <= TOLERANCE or wrong:
        raise InputError(
            f"the ONNX graph differs from {name} by {difference:.1e} and in {wrong} of {n} "
            "actions: nothing was written, so please report it"
        )
    return difference, int(differ.sum())


def random_state(policy: Policy | Core, n: int) -> State:
    """States in the middle of episodes and at their start, with any previous action."""
    rng = np.random.default_rng(1)
    state = policy.memory.sample(rng, n)
    return policy.memory.reset(state, rng.random(n) < 0.25)


def random_masks(description: PolicyDescription, n: int) -> dict[str, np.ndarray]:
    """Masks of every kind, as the argument of `predict`; nothing for other policies."""
    if not description.masked:
        return {}
    rng = np.random.default_rng(3)
    return {MASKS: rng.random((n, description.spaces.actions.width)) < rng.random((n, 1))}


def random_prices(policy: Policy, n: int) -> np.ndarray:
    """Prices over a dial's whole range and beyond, its core, and the price that it is set to."""
    price, largest = policy.price, policy.largest_price
    assert price is not None
    assert largest is not None
    spread = np.random.default_rng(2).choice([-1.0, -0.01, 0.0, 0.003, 0.1, 0.5, 2.0], n) * largest
    return np.where(np.arange(n) % 4 == 0, price, spread).astype(np.float32)


def _ties(
    policy: Policy | Core,
    description: PolicyDescription,
    output: np.ndarray,
    previous: np.ndarray,
    scores: np.ndarray,
    core_action: np.ndarray,
) -> np.ndarray:
    """The rows in which rounding may decide which action is taken."""
    rows = np.arange(len(output))
    near = nearly_tied(output) | nearly_tied(scores)
    if description.controller is not None:  # it may compare repeating with the core's action
        repeat, follow = scores[rows, previous], scores[rows, core_action]
        near |= (previous != core_action) & (abs(repeat - follow) <= ROUNDING * (1 + abs(follow)))
    for rule in policy.filters:
        if isinstance(rule, CostHysteresis):
            worth = scores - np.where(previous[:, None] < 0, 0, rule.prices[previous])
            gains = abs(worth - scores[rows, previous][:, None])
            gains[rows, previous] = np.inf
            near |= nearly_tied(worth) | (gains <= ROUNDING * (1 + abs(worth))).any(1)
    if policy.hysteresis is not None:
        gain = scores.max(1) - scores[rows, previous]
        sizes = np.where(scores > IMPOSSIBLE, abs(scores), 0)
        near |= abs(gain - policy.hysteresis) <= ROUNDING * (1 + sizes.max(1))
    return near


def nearly_tied(scores: np.ndarray) -> np.ndarray:
    """The rows in which the two best scores differ by no more than rounding."""
    if scores.shape[1] == 1:
        return np.zeros(len(scores), bool)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] <= ROUNDING * (1 + abs(best[:, -1]))


FORM = Form(_add, _outputs, _metadata, compare)
