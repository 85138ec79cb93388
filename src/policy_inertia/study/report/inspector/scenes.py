"""Which episodes of a study are worth looking at: on each task, before and after."""

from __future__ import annotations

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.evaluation.recording import Recording, record
from policy_inertia.policies.policy import Policy
from policy_inertia.study.report.inspector import Scene
from policy_inertia.study.results import Results, Series

LIMIT = 300  # steps of an episode


def choose(results: Results, seed: int = 0) -> tuple[list[Scene], list[str]]:
    """A scene for each task, and what could not be recorded or rendered, in sentences.

    Beside the first policy with a controller stands the first one without. Of their runs, those
    with the median return are taken; both start from the same state, and sample their actions.
    """
    scenes, notes = list[Scene](), list[str]()
    shown: set[str] = set()
    for experiment in results.experiments:
        for task in dict.fromkeys(s.task for s in experiment.series):
            pair = before_and_after([s for s in experiment.series if s.task == task and s.seeds])
            if task in shown or not pair:
                continue
            shown.add(task)
            try:
                sides = _record(pair, seed, notes)
            except InputError as error:
                notes.append(f"{task} could not be recorded: {error}")
                continue
            names = " and ".join(s.label for s in pair)
            scenes.append(Scene(f"{task}: {names}, from the same start", sides))
    return scenes, notes


def before_and_after(series: list[Series]) -> list[Series]:
    """The first policy without a controller, then the first with one; else the first there is."""
    nested = [s for s in series if all("core" in r for r in s.results)]
    plain = [s for s in series if s not in nested]
    # around the same core, where it is there
    plain.sort(key=lambda s: not (nested and nested[0].method == f"n{s.method}"))
    return [*plain[:1], *nested[:1]] if nested else plain[:2]


def _record(pair: list[Series], seed: int, notes: list[str]) -> list[Recording]:
    sides = []
    for s in pair:
        returns = [r["sampled"]["return"] for r in s.results]
        median = int(np.argsort(returns, stable=True)[(len(returns) - 1) // 2])
        policy = Policy.load(s.folders[median])
        label, kwargs = f"{s.label}, seed {s.seeds[median]}", policy.env_kwargs
        for frames in (True, False):
            try:
                sides += record(policy, s.env, 1, seed, False, label, LIMIT, frames, kwargs)
                break
            except InputError as error:
                if not frames:
                    raise
                if str(error) not in notes:
                    notes.append(str(error))
    return sides
