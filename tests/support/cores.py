"""Functions as cores, for the probes in `tests.support.probes`; and the scores of a core."""

import numpy as np

from policy_inertia import Core


def scores_of(core: Core, obs: np.ndarray) -> np.ndarray:
    """The scores of a core that has some."""
    scores = core.scores(obs)
    assert scores is not None
    return scores


def jittery(obs: np.ndarray) -> np.ndarray:
    """Actions for `DeadZone`: right at its ends, and needlessly to and fro in between."""
    at = obs[:, 0].round().astype(int)
    return np.where(abs(at) == 2, at > 0, at % 2 == 0).astype(int)


def unsure(obs: np.ndarray) -> np.ndarray:
    """The same as probabilities: near 1 at the ends, 0.6 in between."""
    at, action = abs(obs[:, 0].round()), jittery(obs)
    best = np.where(at == 2, 0.99, 0.6)
    return np.stack([np.where(action == 0, best, 1 - best), np.where(action, best, 1 - best)], 1)


def light(obs: np.ndarray) -> np.ndarray:
    """Actions for `Lights`: the action that is shown."""
    return (obs[:, 0] > 0.5).astype(int)


def bright(obs: np.ndarray) -> np.ndarray:
    """The same as probabilities, equally sure of both actions."""
    return np.where(light(obs)[:, None] == np.arange(2), 0.9, 0.1)


def alternating(obs: np.ndarray) -> np.ndarray:
    """Actions for `Clock`: another one at every step."""
    return obs[:, 0].round().astype(int) % 2
