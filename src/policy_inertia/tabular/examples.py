"""Example MDPs: random ones, and small models in which the best core oscillates."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from policy_inertia.tabular.mdp import MDP
from policy_inertia.tabular.two_way_mdp import two_way


def garnet(
    seed: int | np.random.Generator,
    states: int = 6,
    actions: int = 3,
    branching: int = 2,
    gamma: float = 0.9,
    horizon: int | None = None,
    largest_end: float = 0.0,
) -> MDP:
    """Draw a random MDP (a Garnet).

    Args:
        seed: Seed or generator.
        states: Number of states.
        actions: Number of actions.
        branching: Number of states that can follow an action.
        gamma: Discount factor.
        horizon: Largest number of steps of an episode.
        largest_end: Largest probability that an action ends the episode; drawn uniformly from 0.

    Returns:
        The MDP, with rewards uniform in [0, 1].
    """
    rng = np.random.default_rng(seed)
    P = np.zeros((states, actions, states))
    for s, a in product(range(states), range(actions)):
        successors = rng.choice(states, min(branching, states), replace=False)
        P[s, a, successors] = rng.dirichlet(np.ones(len(successors)))
    ends = np.zeros((states, actions))
    if largest_end:
        ends = rng.uniform(0, largest_end, (states, actions))
    P *= (1 - ends)[..., None]
    R = rng.uniform(0, 1, (states, actions))
    return MDP(P, R, gamma, horizon, rng.dirichlet(np.ones(states)), ends, name="Garnet")


def random_core(rng: np.random.Generator, mdp: MDP) -> np.ndarray:
    """Draw a stationary core, uniformly over all distributions."""
    return rng.dirichlet(np.ones(mdp.actions), mdp.states)


def alternating(gamma: float = 0.5) -> MDP:
    """Two states that take turns, whatever is done; action s earns 1 in state s.

    One price of switching decides everything: below it the best policy switches at every step,
    above it never. Limits reach what lies between.
    """
    other = np.array([[0.0, 1.0], [1.0, 0.0]])
    P = np.repeat(other[:, None], 2, axis=1)
    return MDP(P, np.eye(2), gamma, rho=[1, 0], name="alternating")


class _MDPBuilder:
    """Collects transitions between states of any type, and builds the arrays of an MDP."""

    def __init__(self, states: list[Any], actions: int) -> None:
        self.index = {state: i for i, state in enumerate(states)}
        self.P = np.zeros((len(states), actions, len(states)))
        self.R = np.zeros((len(states), actions))
        self.ends = np.zeros((len(states), actions))

    def add(
        self, state: object, action: int, probability: float, successor: object, reward: float
    ) -> None:
        """Add one possible outcome of (state, action); successor None ends the episode."""
        s = self.index[state]
        self.R[s, action] += probability * reward
        if successor is None:
            self.ends[s, action] += probability
        else:
            self.P[s, action, self.index[successor]] += probability

    def build(self, gamma: float, horizon: int | None, first: object, name: str) -> MDP:
        rho = np.eye(len(self.index))[self.index[first]]
        return MDP(self.P, self.R, gamma, horizon, rho, self.ends, name)


def windy_line(length: int = 9, gamma: float = 0.9, horizon: int | None = None) -> MDP:
    """Stay near the middle of a line in random wind; actions left, stay and right.

    The reward falls with the distance from the middle, and moving costs 0.05.
    """
    builder = _MDPBuilder(list(range(length)), 3)
    middle = length // 2
    for x, action in product(range(length), range(3)):
        for wind, probability in ((-1, 0.3), (0, 0.4), (1, 0.3)):
            successor = min(max(x + action - 1 + wind, 0), length - 1)
            reward = 1 - abs(successor - middle) / middle - 0.05 * (action != 1)
            builder.add(x, action, probability, successor, reward)
    return builder.build(gamma, horizon, middle, "windy line")


def chain(
    length: int = 7, cost: float = 0.1, gamma: float = 0.9, horizon: int | None = None
) -> MDP:
    """Stay near the middle of a chain with two actions: a step left and a step right.

    A step goes the other way with probability 0.3. A change of direction costs `cost`. This cost is
    part of the reward, so the last direction is part of the state.
    """
    builder = _MDPBuilder(list(product(range(length), range(2))), 2)
    middle = length // 2
    for (x, last), action in product(builder.index, range(2)):
        for step, probability in ((2 * action - 1, 0.7), (1 - 2 * action, 0.3)):
            successor = min(max(x + step, 0), length - 1)
            reward = 1 - abs(successor - middle) / middle - cost * (action != last)
            builder.add((x, last), action, probability, (successor, action), reward)
    return builder.build(gamma, horizon, (middle, 0), "chain")


def overtaking(ahead: int = 4, oncoming: int = 5, gamma: float = 0.95) -> MDP:
    """A road with two lanes: a slower car ahead in our lane, an oncoming car in the other.

    The state is our lane, the gap to the slow car and the gap to the oncoming car. The actions are:
    drive right, drive left, brake. Driving earns 1 on the right and 0.8 on the left; braking earns
    0.3. A crash costs 5 and ends the episode.
    """
    cells = product((0, 1), range(ahead + 1), range(oncoming + 1))
    builder = _MDPBuilder(list(cells), 3)
    for (lane, gap, distance), action in product(builder.index, range(3)):
        target = lane if action == 2 else action
        reward = 0.3 if action == 2 else 1.0 - 0.2 * target
        closer = 0 if action == 2 else 1
        for slow, near in product(((0, 0.3), (closer, 0.7)), ((1, 0.5), (2, 0.5))):
            probability = slow[1] * near[1]
            next_gap, next_distance = gap - slow[0], distance - near[0]
            if (target == 0 and next_gap < 0) or (target == 1 and next_distance < 0):
                builder.add((lane, gap, distance), action, probability, None, reward - 5)
                continue
            if next_gap < 0:  # we passed the slow car: the next one is far ahead
                next_gap = ahead
            distances = [next_distance] if next_distance >= 0 else [oncoming - 1, oncoming]
            for d in distances:
                share = probability if next_distance >= 0 else probability / 2
                builder.add((lane, gap, distance), action, share, (target, next_gap, d), reward)
    return builder.build(gamma, None, (0, ahead, oncoming), "overtaking")


EXAMPLES: dict[str, Callable[[], MDP]] = {
    "garnet": lambda: garnet(0, states=20, actions=4, branching=3),
    "windy-line": windy_line,
    "chain": chain,
    "overtaking": overtaking,
    "two-way": two_way,
}
