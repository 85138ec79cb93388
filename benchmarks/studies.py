"""Measure the overhead of the study runner: 20 short runs, their own time and the wall time.

`make benchmark-studies` runs it and writes benchmarks/results/studies.json.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from policy_inertia.study.plan import Run
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.study.run.workers import Workers
from policy_inertia.study.toml import study_from_dict

RESULT = Path(__file__).parent / "results" / "studies.json"


def main() -> None:
    study = study_from_dict(
        {
            "seeds": 10,
            "steps": 20_000,
            "methods": ["dqn", "nsac"],
            "tasks": {"Two-Way": {"env": "policy_inertia/TwoWay-v0"}},
        },
        "overhead",
    )
    watched: dict[Path, Run] = {}

    def watch(runs: Sequence[Run]) -> None:
        watched.update((r.path, r) for r in runs)

    pool = Workers()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run_study(study, Path(folder) / "s", pool, watch)
        wall = time.perf_counter() - started
    own = sum(r.seconds for r in watched.values())
    figures = {
        "runs": len(watched),
        "processes": pool.jobs,
        "wall_seconds": wall,
        "own_seconds": own,
        "share": own / (wall * pool.jobs),
    }
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    print(
        f"{len(watched)} runs in {pool.jobs} processes: the runs took {own:.0f} s of "
        f"{wall:.0f} s x {pool.jobs}, a share of {figures['share']:.3f} (aim: 0.95)"
    )


if __name__ == "__main__":
    main()
