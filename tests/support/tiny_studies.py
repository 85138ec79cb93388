"""Studies of a few seconds, and the bytes that their runs wrote."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy_inertia.study.plan import Study
from policy_inertia.study.toml import study_from_dict
from tests.support.runs import contents

COMMAND = "policy-inertia study tiny.toml"

TINY: dict[str, Any] = {
    "name": "tiny",
    "seeds": 2,
    "steps": 1_600,
    "eval_every": 200,
    "eval_episodes": 2,
    "final_episodes": 4,
    "learning_starts": 200,
    "settings": {"checkpoint_seconds": 0},
    "hysteresis": [0.05],
    "budgets": [0.3],
    "methods": ["dqn", "nsac"],
    "tasks": {"Two-Way": {"env": "policy_inertia/TwoWay-v0"}},
}
QUICK: dict[str, Any] = TINY | {
    "methods": ["dqn"],
    "seeds": 1,
    "tasks": ["CartPole-v1"],
    "hysteresis": [],
    "budgets": [],
}


def tiny() -> Study:
    """Two methods with two seeds on Two-Way, filtered and at a budget."""
    return study_from_dict(TINY, "tiny")


def quick(**changes: Any) -> Study:
    """One run on CartPole, with changes to the study."""
    return study_from_dict(QUICK | changes, "tiny")


def run_files(folder: Path) -> dict[str, dict[str, bytes]]:
    """Everything that the runs of a study wrote, byte for byte."""
    runs = sorted(p.parent for p in folder.rglob("run.json"))
    extras = ("hysteresis", "budgets")
    return {
        str(r.relative_to(folder)): contents(r)
        | {name: (r / f"{name}.json").read_bytes() for name in extras}
        for r in runs
    }


def under_way(out: Path) -> bool:
    """Whether a run of `tiny` has passed its second checkpoint and is not at its end."""
    try:
        names = [json.loads(p.read_text())["checkpoint"] for p in out.rglob("latest.json")]
    except FileNotFoundError:  # a run ended while we were looking
        return False
    return any(200 <= int(name.removeprefix("checkpoint-")) < 1_400 for name in names)


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"nothing happened within {seconds:g} seconds"
        time.sleep(0.02)
