"""A few MDPs to look at: random ones, and some whose cores have a reason to oscillate."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from policy_inertia.tabular.mdp import MDP


def garnet(
    seed: int | np.random.Generator,
    states: int = 6,
    actions: int = 3,
    branching: int = 2,
    gamma: float = 0.9,
    horizon: int | None = None,
    ending: float = 0.0,
) -> MDP:
    """A random MDP: each action leads to `branching` states; rewards are uniform in [0, 1].

    `ending` is the largest probability with which an action ends the episode.
    """
    rng = np.random.default_rng(seed)
    P = np.zeros((states, actions, states))
    for s, a in product(range(states), range(actions)):
        to = rng.choice(states, min(branching, states), replace=False)
        P[s, a, to] = rng.dirichlet(np.ones(len(to)))
    ends = rng.uniform(0, ending, (states, actions)) if ending else np.zeros((states, actions))
    P *= (1 - ends)[..., None]
    R = rng.uniform(0, 1, (states, actions))
    return MDP(P, R, gamma, horizon, rng.dirichlet(np.ones(states)), ends, name="Garnet")


def random_core(rng: np.random.Generator, mdp: MDP) -> np.ndarray:
    """A stationary core, drawn uniformly."""
    return rng.dirichlet(np.ones(mdp.actions), mdp.states)


class _Table:
    """Collects what follows (s, a), with states named by anything."""

    def __init__(self, states: list, actions: int) -> None:
        self.index = {state: i for i, state in enumerate(states)}
        self.P = np.zeros((len(states), actions, len(states)))
        self.R = np.zeros((len(states), actions))
        self.ends = np.zeros((len(states), actions))

    def add(self, state: object, action: int, chance: float, to: object, reward: float) -> None:
        s = self.index[state]
        self.R[s, action] += chance * reward
        if to is None:
            self.ends[s, action] += chance
        else:
            self.P[s, action, self.index[to]] += chance

    def mdp(self, gamma: float, horizon: int | None, first: object, name: str) -> MDP:
        rho = np.eye(len(self.index))[self.index[first]]
        return MDP(self.P, self.R, gamma, horizon, rho, self.ends, name)


def windy_line(length: int = 9, gamma: float = 0.9, horizon: int | None = None) -> MDP:
    """Keep to the middle of a line in gusts: left, stay, right; moving costs a little."""
    table = _Table(list(range(length)), 3)
    middle = length // 2
    for x, action in product(range(length), range(3)):
        for wind, chance in ((-1, 0.3), (0, 0.4), (1, 0.3)):
            to = min(max(x + action - 1 + wind, 0), length - 1)
            reward = 1 - abs(to - middle) / middle - 0.05 * (action != 1)
            table.add(x, action, chance, to, reward)
    return table.mdp(gamma, horizon, middle, "windy line")


def chain(
    length: int = 7, cost: float = 0.1, gamma: float = 0.9, horizon: int | None = None
) -> MDP:
    """Stay near the middle of a chain, where it pays, with nothing but steps back and forth.

    Steps slip now and then, and changing direction costs: the cost is part of the reward, so the
    last direction is part of the state.
    """
    table = _Table(list(product(range(length), range(2))), 2)
    middle = length // 2
    for (x, last), action in product(table.index, range(2)):
        for step, chance in ((2 * action - 1, 0.7), (1 - 2 * action, 0.3)):
            to = min(max(x + step, 0), length - 1)
            reward = 1 - abs(to - middle) / middle - cost * (action != last)
            table.add((x, last), action, chance, (to, action), reward)
    return table.mdp(gamma, horizon, (middle, 0), "chain")


def overtaking(ahead: int = 4, oncoming: int = 5, gamma: float = 0.95) -> MDP:
    """A road with two lanes: a slower car ahead on ours, another one coming on the other.

    State: our lane, the gap to the slow car and to the oncoming one. Actions: keep right, keep
    left, brake. Driving earns 1, less on the left; braking 0.3. A crash costs 5 and ends it.
    """
    cells = product((0, 1), range(ahead + 1), range(oncoming + 1))
    table = _Table(list(cells), 3)
    for (lane, gap, far), action in product(table.index, range(3)):
        target = lane if action == 2 else action
        reward = 0.3 if action == 2 else 1.0 - 0.2 * target
        closer = 0 if action == 2 else 1
        for slow, near in product(((0, 0.3), (closer, 0.7)), ((1, 0.5), (2, 0.5))):
            chance = slow[1] * near[1]
            g, f = gap - slow[0], far - near[0]
            if (target == 0 and g < 0) or (target == 1 and f < 0):
                table.add((lane, gap, far), action, chance, None, reward - 5)
                continue
            if g < 0:  # past it: the next one is far ahead
                g = ahead
            for f_next in [f] if f >= 0 else [oncoming - 1, oncoming]:
                share = chance if f >= 0 else chance / 2
                table.add((lane, gap, far), action, share, (target, g, f_next), reward)
    return table.mdp(gamma, None, (0, ahead, oncoming), "overtaking")


def two_way() -> MDP:
    """The Highway simulator's Two-Way, sampled into bins (see `two_way.aggregated`)."""
    from policy_inertia.tabular.two_way import aggregated

    return aggregated()


EXAMPLES: dict[str, Callable[[], MDP]] = {
    "garnet": lambda: garnet(0, states=20, actions=4, branching=3),
    "windy-line": windy_line,
    "chain": chain,
    "overtaking": overtaking,
    "two-way": two_way,
}
