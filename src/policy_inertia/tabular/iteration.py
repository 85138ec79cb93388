"""Nested policy iteration, Algorithm (NPI), with any improvement in each of its two halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit, softmax

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import (
    core_values,
    mixed_policy,
    mixed_values,
    start_value,
    state_value,
    switch_rate,
)


class Improvement(NamedTuple):
    """The objective of one half and how to improve it: E and I in Algorithm (NPI)."""

    name: str
    temperature: float
    """Weight of the entropy in the objective."""
    core: Callable[[np.ndarray], np.ndarray]
    """I_in: from Q_core(s, a) to a new core."""
    inertia: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """I_out: from Q(s, a_prev, a) and the unchanged core to a new mu."""


def greedy() -> Improvement:
    """Improve the plain return: take the best action; repeat where this beats the core's mean."""
    return Improvement("greedy", 0.0, greedy_core, greedy_inertia)


def soft(temperature: float) -> Improvement:
    """Improve the return plus `temperature` times the entropy, in either half."""
    if not temperature > 0:
        raise InputError(f"temperature is {temperature}: give one above 0, or use greedy()")
    return Improvement(
        f"soft({temperature:g})",
        temperature,
        lambda q: softmax(q / temperature, axis=-1),
        lambda q, core: soft_inertia(q, core, temperature),
    )


def greedy_core(q: np.ndarray) -> np.ndarray:
    """The best action as a one-hot row; the first one in case of a tie."""
    return np.eye(q.shape[-1])[q.argmax(-1)]


def greedy_inertia(q: np.ndarray, core: np.ndarray) -> np.ndarray:
    """mu = 1 where Q(s, a_prev, a_prev) > pi_core^T Q(s, a_prev, .), otherwise 0."""
    q = q[..., :-1, :]
    repeated = np.diagonal(q, axis1=-2, axis2=-1)
    return (repeated > state_value(core[..., None, :], q) + 1e-12).astype(float)


def soft_inertia(q: np.ndarray, core: np.ndarray, temperature: float) -> np.ndarray:
    """The mu that maximises pi^T [Q - alpha log pi]: the minimum of L^pic(psi), in closed form.

    Whatever mu is, the other actions keep the core's proportions. So one number describes the
    mixture: the probability x of a_prev. The best x is the sigmoid of the difference between the
    soft value of repeating and the soft value of the other actions. mu can only raise x above the
    core's probability.

    Args:
        q: Action values Q(s, a_prev, a), (..., S, A + 1, A).
        core: Core policy, (..., S, A).
        temperature: Weight alpha of the entropy.

    Returns:
        mu[s, a_prev], (..., S, A); 0 where the core repeats a_prev for certain.
    """
    q = q[..., :-1, :]
    p = core
    repeated = np.diagonal(q, axis1=-2, axis2=-1)
    left = 1 - p
    rest = core[..., None, :] * (1 - np.eye(core.shape[-1]))  # (..., s, a_prev, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = rest / rest.sum(-1, keepdims=True)
        other = (rest * q).sum(-1) + temperature * entr(rest).sum(-1)
        mu = (expit((repeated - other) / temperature) - p) / left
    return np.where(left > 1e-12, np.clip(mu, 0, 1), 0.0)


@dataclass(frozen=True)
class HalfStep:
    """The state of nested policy iteration after a half step."""

    half: str
    """ "start" before the first half step, then "inner" or "outer"."""
    round: int
    core: np.ndarray
    mu: np.ndarray
    q_core: np.ndarray
    q: np.ndarray
    core_objective: float
    objective: float
    switch_rate: float


def nested_policy_iteration(
    mdp: MDP,
    inner: Improvement,
    outer: Improvement,
    core: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    rounds: int = 100,
    inner_steps: int = 1,
    tolerance: float = 1e-10,
) -> list[HalfStep]:
    """Run Algorithm (NPI): each round improves the core, then mu.

    Args:
        mdp: The MDP.
        inner: Improvement of the core.
        outer: Improvement of mu.
        core: First core. Default: uniform.
        mu: First mu. Default: 1/2.
        rounds: Largest number of rounds.
        inner_steps: Improvements of the core in each round.
        tolerance: Stop when a round changes no Q by this much.

    Returns:
        The start and every half step.
    """
    if rounds < 1 or inner_steps < 1:
        raise InputError(
            f"rounds is {rounds} and inner_steps is {inner_steps}: both must be at least 1"
        )
    shape = (mdp.states, mdp.actions)
    core = mdp.check_core(np.full(shape, 1 / mdp.actions) if core is None else core)
    mu = np.broadcast_to(np.full(shape, 0.5) if mu is None else np.asarray(mu), core.shape)
    steps = [_half_step(mdp, inner, outer, "start", 0, core, mu)]
    for n in range(1, rounds + 1):
        for _ in range(inner_steps):
            core = inner.core(steps[-1].q_core)
            steps.append(_half_step(mdp, inner, outer, "inner", n, core, mu))
        mu = outer.inertia(steps[-1].q, core)
        steps.append(_half_step(mdp, inner, outer, "outer", n, core, mu))
        before = steps[-2 - inner_steps]
        change = max(abs(steps[-1].q - before.q).max(), abs(steps[-1].q_core - before.q_core).max())
        if change < tolerance:
            break
    return steps


def _half_step(
    mdp: MDP,
    inner: Improvement,
    outer: Improvement,
    half: str,
    n: int,
    core: np.ndarray,
    mu: np.ndarray,
) -> HalfStep:
    pi = mixed_policy(core, mu)
    q_core = core_values(mdp, core, inner.temperature)
    q = mixed_values(mdp, pi, outer.temperature)
    return HalfStep(
        half,
        n,
        core,
        mu,
        q_core,
        q,
        start_value(mdp, state_value(core, q_core, inner.temperature)),
        start_value(mdp, state_value(pi, q, outer.temperature)[..., -1]),
        switch_rate(mdp, pi),
    )


def whole_rounds(steps: list[HalfStep]) -> list[HalfStep]:
    """The start and every outer half step: pi_old, pi_new, pi_new, ... of Theorem 3.2."""
    return [s for s in steps if s.half != "inner"]
