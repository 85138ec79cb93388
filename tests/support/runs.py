"""What several test files say about runs."""

import shutil
from pathlib import Path

from policy_inertia import train

SHORT = {"steps": 2_000, "eval_every": 500, "eval_episodes": 4, "final_episodes": 4}


def copy_of(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def resume(out: Path, **changes) -> None:
    train("sac", "CartPole-v1", out, resume=True, **{**SHORT, **changes})


REPRODUCIBLE = ("policy.safetensors", "best.safetensors", "metrics.jsonl", "result.json")


def contents(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in REPRODUCIBLE}
