"""The rival that never switches: one action, always. What cannot beat it has learned nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.calibration.sweep import CALIBRATION
from policy_inertia.envs.making import make_vector
from policy_inertia.envs.vector import episode_seed
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.settings import RunConfig
from policy_inertia.study.analysis.at_budget import WAYS, Record, record_of
from policy_inertia.study.results import Results, Series
from policy_inertia.training.session import FINAL

LABEL = "one action"


@dataclass(frozen=True)
class Constant:
    """Always the same action."""

    action: int

    def predict(self, observation: np.ndarray, *_: Any, **__: Any) -> tuple[np.ndarray, None]:
        return np.full(len(observation), self.action), None


def records(results: Results, watch: Callable[[str], None] | None = None) -> list[Record]:
    """The best action of each task, seed by seed, at every budget of the study: it keeps them all.

    Which one is best is decided on the episodes that calibrate the others.
    """
    found: list[Record] = []
    for experiment in results.experiments:
        tasks = {s.task: s for s in experiment.series if s.budgets}
        for s in tasks.values():
            if watch is not None:
                watch(f"{s.task}: {LABEL}")
            found += _records(s)
    return found


def _records(s: Series) -> Iterator[Record]:
    config = RunConfig.from_dict(s.config)
    envs, spaces = make_vector(config.env, 1, config.test_kwargs)
    envs.close()

    def told(action: int, episodes: int, seed: int) -> dict[str, Any]:
        policy = Constant(action)
        return evaluate(policy, config.env, episodes, seed, True, config.test_kwargs).summary()

    for seed in s.seeds:
        first = episode_seed(seed, CALIBRATION)
        returns = [
            told(a, config.calibration_episodes, first)["return"] for a in range(spaces.discrete.n)
        ]
        best = int(np.argmax(returns))
        entry = told(best, config.final_episodes, episode_seed(seed, FINAL))
        for budget in s.budgets:
            for way in WAYS:
                kept = Record(s.task, LABEL, LABEL, seed, budget, way)
                yield record_of(kept, returns[best], entry, config.gamma)
