"""Processor time of the computations of this package, for growing MDPs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from policy_inertia.tabular.example_results import CORE_TEMPERATURE, MIXED_TEMPERATURE
from policy_inertia.tabular.examples import garnet, random_core
from policy_inertia.tabular.iteration import nested_policy_iteration, soft
from policy_inertia.tabular.tradeoff import LinearProgram
from policy_inertia.tabular.values import core_as_mixed, mixed_values


@dataclass(frozen=True)
class Timing:
    """Processor time of each computation for one size of MDP, in seconds."""

    states: int
    actions: int
    evaluation: float
    """Values of a mixed policy."""
    iteration: float
    """Nested policy iteration until it converges."""
    program: float
    """One point of the trade-off curve."""


def time_by_size(
    states: tuple[int, ...] = (62, 125, 250, 500), actions: int = 5, seed: int = 0
) -> Iterator[Timing]:
    """Time the computations on random MDPs with these numbers of states."""
    for n in states:
        mdp = garnet(seed, n, actions, branching=5)
        core = random_core(np.random.default_rng(seed), mdp)
        marks = [time.process_time()]
        mixed_values(mdp, core_as_mixed(core))
        marks.append(time.process_time())
        nested_policy_iteration(mdp, soft(CORE_TEMPERATURE), soft(MIXED_TEMPERATURE))
        marks.append(time.process_time())
        LinearProgram(mdp, core).solve(price=0.5)
        marks.append(time.process_time())
        yield Timing(n, actions, *np.diff(marks).tolist())
