"""What the study runner itself costs: 20 short runs, their own time against the wall's.

Run with `make benchmark-studies`; the figures go to benchmarks/results/studies.json.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from policy_inertia.study.plan import Run
from policy_inertia.study.run.scheduler import Workers, run_study
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
    seen: dict[Path, Run] = {}

    def watch(runs: Sequence[Run]) -> None:
        seen.update((r.path, r) for r in runs)

    pool = Workers()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run_study(study, Path(folder) / "s", pool, watch)
        wall = time.perf_counter() - started
    own = sum(r.seconds for r in seen.values())
    figures = {
        "runs": len(seen),
        "processes": pool.jobs,
        "wall_seconds": wall,
        "own_seconds": own,
        "share": own / (wall * pool.jobs),
    }
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    print(
        f"{len(seen)} runs in {pool.jobs} processes: {own:.0f} s of their own in "
        f"{wall:.0f} s x {pool.jobs}, a share of {figures['share']:.3f} (wanted: 0.95)"
    )


if __name__ == "__main__":
    main()
