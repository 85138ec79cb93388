"""Record one scene for each task of a study: a policy without and one with a controller."""

from __future__ import annotations

from collections.abc import Callable

from policy_inertia.errors import InputError, TrustError
from policy_inertia.evaluation.recording import Recording, record
from policy_inertia.policies.policy import Policy
from policy_inertia.run_settings import RunConfig
from policy_inertia.study.analysis.summary import before_and_after, median_run
from policy_inertia.study.report.inspector.element import Scene
from policy_inertia.study.results import LineResults, Results

LIMIT = 300  # steps of an episode


def record_scenes(
    results: Results, seed: int = 0, refused: Callable[[str], None] | None = None
) -> tuple[list[Scene], list[str]]:
    """Return a scene for each task, and notes on what could not be recorded or rendered.

    `before_and_after` chooses the policies, each from the run with its median return. They start
    from the same state and sample their actions.

    Args:
        results: the results of a study.
        seed: seed of the episodes.
        refused: called with the reason if an env is not made because the study's folder names code
            and is not trusted; a note says so too.
    """
    scenes, notes = list[Scene](), list[str]()
    tasks: set[str] = set()
    for experiment in results.experiments:
        for task in experiment.tasks:
            pair = before_and_after(experiment.of_task(task))
            if task in tasks or not pair:
                continue
            tasks.add(task)
            try:
                sides = [_record(line, seed, notes) for line in pair]
            except TrustError as error:
                notes.append(f"{task} was not recorded: {error.refusal} (trust it with --trust)")
                if refused is not None:
                    refused(error.refusal)
                continue
            except InputError as error:
                notes.append(f"{task} could not be recorded: {error}")
                continue
            names = " and ".join(x.label for x in pair)
            scenes.append(Scene(f"{task}: {names}, from the same start", sides))
    return scenes, notes


def _record(line: LineResults, seed: int, notes: list[str]) -> Recording:
    """Record an episode; without frames if the env cannot be rendered, which adds a note."""
    median, config = median_run(line), RunConfig.from_dict(line.config)
    folder = line.folders[median]
    if not (folder / "policy.safetensors").exists():
        raise InputError(f"the policy of {line.label} is not there, only the record of its run")
    policy = Policy.load(folder)
    label, kwargs = f"{line.label}, seed {line.seeds[median]}", config.test_kwargs
    try:
        return record(policy, config.env, 1, seed, False, label, LIMIT, True, kwargs)[0]
    except TrustError:
        raise
    except InputError as error:
        recording = record(policy, config.env, 1, seed, False, label, LIMIT, False, kwargs)[0]
        if str(error) not in notes:
            notes.append(str(error))
        return recording
