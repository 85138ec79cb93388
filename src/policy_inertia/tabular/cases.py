"""Random cases to check the paper's statements on: an MDP, a core and a mu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.tabular.examples import garnet
from policy_inertia.tabular.mdp import MDP


@dataclass(frozen=True)
class Case:
    """An MDP with a stationary core and a stationary mu."""

    mdp: MDP
    core: np.ndarray
    mu: np.ndarray


@dataclass(frozen=True)
class Kind:
    """Settings of the random MDPs of one kind."""

    horizon: int | None = None
    largest_end: float = 0.0
    """Largest probability that an action ends the episode."""


KINDS = {
    "discounted": Kind(),
    "one length": Kind(horizon=6),
    "any length": Kind(horizon=6, largest_end=0.6),
}


def random_case(
    seed: int | np.random.Generator,
    kind: str = "discounted",
    states: int = 4,
    actions: int = 3,
    gamma: float = 0.9,
) -> Case:
    """Draw a Garnet MDP with a random core and a random mu.

    One to three states follow an action. Half of the MDPs have sparse rewards, and half of the
    cores are nearly deterministic.
    """
    rng = np.random.default_rng(seed)
    row = KINDS[kind]
    branching, peaked, sparse = rng.integers(1, 4), rng.random() < 0.5, rng.random() < 0.5
    mdp = garnet(rng, states, actions, int(branching), gamma, row.horizon, row.largest_end)
    if sparse:
        mdp = replace(mdp, R=mdp.R * (rng.random(mdp.R.shape) < 0.3))
    core = rng.dirichlet(np.full(actions, 0.1 if peaked else 1.0), states)
    return Case(mdp, core, rng.random((states, actions)))


def random_cases(
    n: int,
    seed: int = 0,
    kind: str = "discounted",
    states: int = 4,
    actions: int = 3,
    gamma: float = 0.9,
) -> Iterator[Case]:
    """Draw `n` cases; case k depends on `seed` and k only."""
    if n < 1:
        raise InputError(f"the number of cases is {n}: it must be at least 1")
    for k in range(n):
        yield random_case(np.random.default_rng([seed, k]), kind, states, actions, gamma)
