"""From a core's own output to probabilities and scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy_inertia.actions.masks import forbid, read_masks
from policy_inertia.actions.per_head import per_head
from policy_inertia.algorithms.interface import Acting, plain
from policy_inertia.algorithms.losses import LOG_ZERO, log_greedy
from policy_inertia.errors import InputError
from policy_inertia.networks.perceptron import log_softmax
from policy_inertia.policies.probing import OutputKind

GREEDY = 0.0
"""The temperature at which only the best action has a positive probability."""


def acting_of(
    values: np.ndarray,
    kind: OutputKind,
    temperature: float,
    actions: Any,
    allowed: np.ndarray | None = None,
) -> Acting:
    """Probabilities and scores for a batch.

    Args:
        values: What the core returned: actions, or one number for each action of each head.
        kind: What that is.
        temperature: How it becomes probabilities; see `Core`.
        actions: The action space.
        allowed: (B, width) what an action mask allows; None for all.
    """
    if kind == "action":
        values = np.asarray((1 - actions.encode(values)) * np.float32(LOG_ZERO))
    scores = scores_of(values, kind, temperature, actions, allowed)
    if kind == "action" or temperature == GREEDY:
        log_pi = per_head(lambda part: log_greedy(part, np), scores, actions)
        log_pi = log_pi if allowed is None else np.asarray(forbid(log_pi, allowed))
        scores = log_pi if kind == "action" else scores
    else:
        q = kind == "q"
        log_pi = _log_softmax(values, temperature, actions, allowed) if q else scores
    return plain(actions.distribution(log_pi), scores)


def scores_of(
    values: np.ndarray,
    kind: OutputKind,
    temperature: float,
    actions: Any,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """What hysteresis compares: Q-values or log-probabilities, (B, width)."""
    if kind == "probabilities":
        values = np.log(values, out=np.full_like(values, LOG_ZERO), where=values > 0)
    if kind in ("logits", "probabilities"):
        return _log_softmax(values, temperature, actions, allowed)
    return values if allowed is None else np.asarray(forbid(values, allowed))


def allowed_actions(action_masks: Any, n: int, masked: bool, actions: Any, name: str) -> Any:
    """Action masks, checked; None if there are none.

    Raises:
        InputError: The core takes no masks, or they have another shape.
    """
    if action_masks is None:
        return None
    if not masked:
        raise InputError(
            f"{name} was trained without action masks: leave action_masks out, or load it with "
            "load_core(..., masks=True)"
        )
    allowed = read_masks(action_masks, n, actions.width, name)
    return per_head(lambda part: part | ~part.any(1, keepdims=True), allowed, actions)


def _log_softmax(
    values: np.ndarray, temperature: float, actions: Any, allowed: np.ndarray | None
) -> np.ndarray:
    values = values / (temperature or 1)
    values = values if allowed is None else np.asarray(forbid(values, allowed))
    return per_head(lambda part: log_softmax(part, np), values, actions)
