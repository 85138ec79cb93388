"""Several methods side by side on one env: the smallest study."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from policy_inertia.errors import InputError
from policy_inertia.study.plan import Experiment, Line, Study, Task
from policy_inertia.study.results import Results
from policy_inertia.study.run.scheduler import Watch, Workers, run_study


def compare(
    methods: Sequence[str],
    env: str,
    seeds: int = 3,
    out: str | os.PathLike[str] = "runs/compare",
    jobs: int | None = None,
    hysteresis: Sequence[float] = (),
    overrides: dict[str, dict[str, Any]] | None = None,
    watch: Watch | None = None,
    command: str = "",
    **changes: Any,
) -> Results:
    """Train each of `methods` with `seeds` seeds on `env`, `jobs` at a time, or go on with it.

    `changes` are settings of all runs (`steps`, `eval_every`, ...), `overrides` those of single
    methods (`{"nsac": {"mu0": 0.1}}`). With `hysteresis` every policy is also evaluated with the
    filter at these thresholds. One run a core by default.
    """
    if not methods:
        raise InputError("no method is given: name one or more, such as dqn sac nsac")
    if not isinstance(env, str):
        raise InputError(
            "comparisons run in processes of their own and need an env's id, not a function: "
            "register the env with Gymnasium and give its id (package:Id)"
        )
    if seeds < 1:
        raise InputError(f"seeds is {seeds}: compare over one seed at least, better five")
    task = Task(env, env)
    lines = tuple(Line(m, m, task, (overrides or {}).get(m, {})) for m in dict.fromkeys(methods))
    experiment = Experiment("comparison", env, lines, hysteresis=tuple(hysteresis))
    title = f"{', '.join(x.label for x in lines)} on {env}"
    study = Study("comparison", title, (experiment,), tuple(range(seeds)), changes)
    return run_study(study, out, Workers(jobs), watch, command)
