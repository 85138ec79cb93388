"""The rivals that learn nothing: one action, always, and random actions where actions are Box.

A policy must beat them to be worth anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.envs.making import make_vector
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.methods import DISCRETE
from policy_inertia.metrics.measures import RETURN
from policy_inertia.policies.random_actions import RandomActions
from policy_inertia.run_settings import RunConfig
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.study.analysis.at_budget import ACTIONS, Record, evaluation_figures
from policy_inertia.study.results import LineResults, Results

LABEL = "one action"
RANDOM = "random actions"


@dataclass(frozen=True)
class ConstantAction:
    """A policy that always takes the same action."""

    action: int

    def predict(self, observation: np.ndarray, *_: Any, **__: Any) -> tuple[np.ndarray, None]:
        return np.full(len(observation), self.action), None


def constant_action_records(
    results: Results, watch: Callable[[str], None] | None = None
) -> list[Record]:
    """Return records of the best single action of each task, for every seed and budget.

    A policy that never switches keeps every budget. The best action is chosen on the episodes that
    calibrate the other policies. Box actions have random actions instead, at a budget of 1, which
    every policy keeps. The seeds are those of the line that has most.

    Args:
        results: the results of a study with budgets.
        watch: called with the name of each task before its evaluation.
    """
    records: list[Record] = []
    for experiment in results.experiments:
        lines = [x for x in experiment.lines if x.budgets and x.seeds]
        tasks = {x.task: x for x in sorted(lines, key=lambda x: len(x.seeds))}
        for line in tasks.values():
            if watch is not None:
                watch(f"{line.task}: {LABEL}")
            rival = _task_records if line.config.get("actions", DISCRETE) == DISCRETE else _random
            records += rival(line)
    return records


def _random(line: LineResults) -> Iterator[Record]:
    config = RunConfig.from_dict(line.config)
    envs, spaces = make_vector(config.env, 1, config.test_kwargs)
    envs.close()
    policy = RandomActions(spaces.actions)
    for seed in line.seeds:
        first = stream_seed(seed, Stream.FINAL)
        final = evaluate(policy, config.env, config.final_episodes, first, True, config.test_kwargs)
        summary = final.summary()
        figures = evaluation_figures(summary, summary[RETURN.name], config.gamma)
        for actions in ACTIONS:
            yield Record(line.task, RANDOM, RANDOM, seed, 1.0, actions, figures)


def _task_records(line: LineResults) -> Iterator[Record]:
    config = RunConfig.from_dict(line.config)
    envs, spaces = make_vector(config.env, 1, config.test_kwargs)
    envs.close()

    def summary(action: int, episodes: int, seed: int) -> dict[str, Any]:
        policy = ConstantAction(action)
        return evaluate(policy, config.env, episodes, seed, True, config.test_kwargs).summary()

    for seed in line.seeds:
        first = stream_seed(seed, Stream.CALIBRATION)
        returns = [
            summary(action, config.calibration_episodes, first)[RETURN.name]
            for action in range(spaces.discrete.n)
        ]
        best = int(np.argmax(returns))
        final = summary(best, config.final_episodes, stream_seed(seed, Stream.FINAL))
        figures = evaluation_figures(final, returns[best], config.gamma)
        for budget in line.budgets:
            for actions in ACTIONS:
                yield Record(line.task, LABEL, LABEL, seed, budget, actions, figures)
