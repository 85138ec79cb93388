"""Nested policy iteration, Algorithm (NPI), with any improvement in each of its halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import entr, expit, softmax

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.values import (
    at_start,
    core_values,
    mixed,
    mixed_values,
    switch_rate,
    value,
)


class Improvement(NamedTuple):
    """E and I of one half: the objective's temperature, and how to improve under it."""

    name: str
    temperature: float
    core: Callable[[np.ndarray], np.ndarray]
    """I_in: Q_core -> a new core."""
    inertia: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """I_out: Q(s, a_prev, a) and the core, which is kept -> a new mu."""


def greedy() -> Improvement:
    """Take the best action; repeat where that beats the core's mean."""
    return Improvement("greedy", 0.0, greedy_core, greedy_inertia)


def soft(temperature: float) -> Improvement:
    """Take the best policy under the entropy-regularised objective, in either half."""
    if not temperature > 0:
        raise InputError(f"temperature is {temperature}: it must be above 0; greedy() is the limit")
    return Improvement(
        f"soft({temperature:g})",
        temperature,
        lambda q: softmax(q / temperature, axis=-1),
        lambda q, core: soft_inertia(q, core, temperature),
    )


def greedy_core(q: np.ndarray) -> np.ndarray:
    """The first of the best actions, as a one-hot."""
    return np.eye(q.shape[-1])[q.argmax(-1)]


def greedy_inertia(q: np.ndarray, core: np.ndarray) -> np.ndarray:
    """mu = 1 where Q(s, a_prev, a_prev) > pi_core^T Q(s, a_prev, .), else 0."""
    known = q[..., :-1, :]
    repeated = np.diagonal(known, axis1=-2, axis2=-1)
    return (repeated > value(core[..., None, :], known) + 1e-12).astype(float)


def soft_inertia(q: np.ndarray, core: np.ndarray, temperature: float) -> np.ndarray:
    """argmax over mu of pi^T [Q - alpha log pi]: what minimises B's L^pic(psi), in closed form.

    Whatever mu is, the other actions keep the core's proportions. So the mixture is one number, the
    probability x of a_prev, and x = sigmoid of the difference of both sides' soft values; mu can
    only raise it above the core's.
    """
    known = q[..., :-1, :]
    p = core
    repeated = np.diagonal(known, axis1=-2, axis2=-1)
    left = 1 - p
    rest = core[..., None, :] * (1 - np.eye(core.shape[-1]))  # (..., s, a_prev, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = rest / rest.sum(-1, keepdims=True)
        other = (rest * known).sum(-1) + temperature * entr(rest).sum(-1)
        mu = (expit((repeated - other) / temperature) - p) / left
    return np.where(left > 1e-12, np.clip(mu, 0, 1), 0.0)  # the core repeats anyway: mu is moot


@dataclass(frozen=True)
class HalfStep:
    """Where nested policy iteration stands after a half step; "start" is before the first."""

    half: str  # "start", "inner" or "outer"
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
    core: np.ndarray | None = None,
    mu: np.ndarray | None = None,
    rounds: int = 100,
    inner_steps: int = 1,
    tolerance: float = 1e-10,
) -> list[HalfStep]:
    """Algorithm (NPI): `inner_steps` of the core, then one of mu, until neither Q moves.

    By default it begins with the uniform core and mu = 1/2.
    """
    if rounds < 1 or inner_steps < 1:
        raise InputError(f"rounds is {rounds} and inner_steps {inner_steps}: give at least 1 each")
    shape = (mdp.states, mdp.actions)
    core = mdp.core(np.full(shape, 1 / mdp.actions) if core is None else core)
    mu = np.broadcast_to(np.full(shape, 0.5) if mu is None else mu, core.shape)
    steps = [_half_step(mdp, inner, outer, "start", 0, core, mu)]
    for n in range(1, rounds + 1):
        for _ in range(inner_steps):
            core = inner.core(steps[-1].q_core)
            steps.append(_half_step(mdp, inner, outer, "inner", n, core, mu))
        mu = outer.inertia(steps[-1].q, core)
        steps.append(_half_step(mdp, inner, outer, "outer", n, core, mu))
        before = steps[-2 - inner_steps]
        moved = max(abs(steps[-1].q - before.q).max(), abs(steps[-1].q_core - before.q_core).max())
        if moved < tolerance:
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
    pi = mixed(core, mu)
    q_core = core_values(mdp, core, inner.temperature)
    q = mixed_values(mdp, pi, outer.temperature)
    return HalfStep(
        half,
        n,
        core,
        mu,
        q_core,
        q,
        at_start(mdp, value(core, q_core, inner.temperature)),
        at_start(mdp, value(pi, q, outer.temperature)[..., -1]),
        switch_rate(mdp, pi),
    )


def full_steps(steps: list[HalfStep]) -> list[HalfStep]:
    """The start and every outer half step: pi_old, pi_new, pi_new, ... of Theorem (NPI)."""
    return [s for s in steps if s.half != "inner"]
