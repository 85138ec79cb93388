"""The Highway simulator's Two-Way as a small MDP: sampled, put into bins and counted.

The arrays are an estimate of the scene; as an MDP they are exact, and all that is said of them is.
"""

from __future__ import annotations

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.tabular.mdp import MDP

SPEEDS = np.array([22.5, 27.5])  # between the ego's target speeds, 20, 25 and 30 m/s
AHEAD = np.array([10.0, 20.0, 40.0, 80.0])  # gaps in metres to the closest car of our direction
ONCOMING = np.array([40.0, 80.0, 130.0])  # and to the closest of the other
BINS = (2, len(SPEEDS) + 1, len(AHEAD) + 1, len(ONCOMING) + 1)
_MIDDLE = 2.0  # of the road, across; our lane is at 4 m, the oncoming one at 0


def bins(seen: np.ndarray) -> np.ndarray:
    """Observations (n, vehicles, [presence, x, y, vx, vy]) in metres as numbers of states (n,)."""
    ego, others = seen[:, 0], seen[:, 1:]
    own = others[..., 2] + ego[:, None, 2] > _MIDDLE
    ahead = (others[..., 0] > 0) & (others[..., 1] > 0)
    gaps = [np.where(ahead & side, others[..., 1], np.inf).min(1) for side in (own, ~own)]
    digits = (
        (ego[:, 2] > _MIDDLE).astype(int),
        np.digitize(ego[:, 3], SPEEDS),
        np.digitize(gaps[0], AHEAD),
        np.digitize(gaps[1], ONCOMING),
    )
    return np.ravel_multi_index(digits, BINS)


def aggregated(
    steps: int = 2_000, envs: int = 100, seed: int = 0, gamma: float = 0.95, stick: float = 0.7
) -> MDP:
    """Two-Way (the paper's configuration) from `steps` of `envs` scenes with sticky random actions.

    What was never tried in a state is taken to do what the other actions did there. A crash ends
    the episode; the time limit does not, it only begins another one.
    """
    from policy_inertia.envs.highway import TrafficVectorEnv

    if steps < 1:
        raise InputError(f"steps is {steps}: it must be at least 1")
    metres = {"observation": {"normalize": False, "absolute": False}}
    env = TrafficVectorEnv(envs, "TwoWay", metres)
    rng = np.random.default_rng(seed)
    S, A = int(np.prod(BINS)), int(env.single_action_space.n)  # type: ignore[attr-defined]
    count, ended, earned = np.zeros((S, A, S)), np.zeros((S, A)), np.zeros((S, A))
    first = np.zeros(S)
    here = bins(env.reset(seed=seed)[0])
    np.add.at(first, here, 1)
    action = rng.integers(A, size=envs)
    for _ in range(steps):
        action = np.where(rng.random(envs) < stick, action, rng.integers(A, size=envs))
        seen, reward, terminated, truncated, _ = env.step(action)
        there = bins(seen)
        np.add.at(count, (here, action, there), ~terminated)
        np.add.at(ended, (here, action), terminated)
        np.add.at(earned, (here, action), reward)
        over = terminated | truncated
        if over.any():
            there = np.where(over, bins(env.reset(options={"reset_mask": over})[0]), there)
            np.add.at(first, there[over], 1)
        here = there
    return _counted(count, ended, earned, first, gamma)


def _counted(
    count: np.ndarray, ended: np.ndarray, earned: np.ndarray, first: np.ndarray, gamma: float
) -> MDP:
    """Counts as an MDP over the states from which something was tried."""
    tried = count.sum(-1) + ended
    kept = tried.any(-1)
    while True:  # where a run stopped, nothing may have been tried
        tried = count[..., kept].sum(-1) + ended
        if (tried.any(-1) >= kept).all():
            break
        kept &= tried.any(-1)
    count, ended, earned, tried = (
        count[kept][..., kept], ended[kept], earned[kept], tried[kept]
    )  # fmt: skip
    tries = np.maximum(tried, 1)
    weight = tried / tried.sum(-1, keepdims=True)
    P, ends, R = count / tries[..., None], ended / tries, earned / tries
    never = tried == 0
    P[never] = np.einsum("sa,sat->st", weight, P)[never.nonzero()[0]]
    ends[never] = (weight * ends).sum(-1)[never.nonzero()[0]]
    R[never] = (weight * R).sum(-1)[never.nonzero()[0]]
    rho = first[kept] / first[kept].sum()
    return MDP(P, R, gamma, None, rho, ends, name="Two-Way")
