"""How often each head of MultiDiscrete and MultiBinary actions switches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policy_inertia.metrics.episodes import Episode


def head_ratios(episode: Episode) -> np.ndarray | None:
    """The switches per step of each head in one episode; None for actions with one head."""
    space = episode.space
    if space is None or not space.finite or not space.shape:
        return None
    return (episode.actions[1:] != episode.actions[:-1]).sum(0) / len(episode)


def oscillation_per_head(episodes: Sequence[Episode]) -> np.ndarray:
    """The mean over episodes of the switches per step of each head."""
    known = [ratios for e in episodes if (ratios := head_ratios(e)) is not None]
    return np.mean(known, axis=0) if known else np.zeros(0)
