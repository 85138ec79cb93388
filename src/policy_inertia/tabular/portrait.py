"""One MDP looked at as a whole: nested policy iteration, and how far its mu is from the best."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from policy_inertia.tabular.examples import garnet, random_core
from policy_inertia.tabular.iteration import HalfStep, full_steps, nested_policy_iteration, soft
from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.rules import Smoothed, smoother
from policy_inertia.tabular.tradeoff import Curve, tradeoff
from policy_inertia.tabular.values import alone, expected_return, mixed, mixed_values, switch_rate

CORE_TEMPERATURE, TEMPERATURE = 0.1, 0.01  # the paper's, for Highway


@dataclass(frozen=True)
class Portrait:
    """What `theory` draws of one MDP; all points are around the core that NPI ended with."""

    mdp: MDP
    steps: list[HalfStep]
    core: tuple[float, float]  # switch rate and return, here and below
    nested: tuple[float, float]
    rule: tuple[float, float]
    smoothed: Smoothed
    curve: Curve

    @property
    def smallest_change(self) -> float:
        """Over whole rounds and all Q(s, a_prev, a): below 0 where Theorem (NPI) fails."""
        whole = full_steps(self.steps)
        return min(float((b.q - a.q).min()) for a, b in pairwise(whole))


def portrait(mdp: MDP, most: int = 60) -> Portrait:
    """NPI with the paper's temperatures, then the rule and the curve around its core."""
    steps = nested_policy_iteration(mdp, soft(CORE_TEMPERATURE), soft(TEMPERATURE))
    core, mu = steps[-1].core, steps[-1].mu
    smoothed = smoother(mdp, core)
    policies = (alone(core), mixed(core, mu), smoothed.policy)
    one, two, three = ((switch_rate(mdp, pi), expected_return(mdp, pi)) for pi in policies)
    return Portrait(mdp, steps, one, two, three, smoothed, tradeoff(mdp, core, most))


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time that each part takes for one size."""

    states: int
    actions: int
    evaluation: float
    iteration: float
    program: float


def growth(
    states: tuple[int, ...] = (62, 125, 250, 500), actions: int = 5, seed: int = 0
) -> Iterator[Cost]:
    """Evaluating a mixed policy, NPI until nothing moves, and one point of the curve."""
    from policy_inertia.tabular.tradeoff import Program

    for n in states:
        mdp = garnet(seed, n, actions, branching=5)
        core = random_core(np.random.default_rng(seed), mdp)
        marks = [time.process_time()]
        mixed_values(mdp, alone(core))
        marks.append(time.process_time())
        nested_policy_iteration(mdp, soft(CORE_TEMPERATURE), soft(TEMPERATURE))
        marks.append(time.process_time())
        Program(mdp, core).solve(price=0.5)
        marks.append(time.process_time())
        yield Cost(n, actions, *np.diff(marks).tolist())
