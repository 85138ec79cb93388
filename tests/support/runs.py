"""Short runs, and the files of a run that two equal runs share."""

import json
import shutil
from pathlib import Path
from typing import Any

from policy_inertia import train
from policy_inertia.training.checksums import checksum_of

SHORT: dict[str, Any] = {
    "preset": "paper",  # small networks
    "steps": 2_000,
    "eval_every": 500,
    "eval_episodes": 4,
    "final_episodes": 4,
}
"""Settings of a run of a few seconds."""
REPRODUCIBLE = ("policy.safetensors", "best.safetensors", "metrics.jsonl", "result.json")


def copy_of(finished: Path, tmp_path: Path) -> Path:
    """Copy a run folder, so that a test may change it."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def resume(out: Path, **changes: Any) -> None:
    """Resume a short run of SAC."""
    train("sac", "CartPole-v1", out, resume=True, **{**SHORT, **changes})


def contents(path: Path) -> dict[str, bytes]:
    """Read the files of a run that must be the same bit for bit."""
    return {name: (path / name).read_bytes() for name in REPRODUCIBLE}


def flip_bit(path: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def newest(out: Path) -> Path:
    """The folder of a run's newest checkpoint."""
    return out / str(json.loads((out / "latest.json").read_text())["checkpoint"])


def seal(checkpoint: Path) -> None:
    """Write the checksums of a checkpoint that a test has changed, as a forger would."""
    sums = {p.name: checksum_of(p) for p in checkpoint.iterdir() if p.name != "checksums.json"}
    (checkpoint / "checksums.json").write_text(json.dumps({"format": 2, "files": sums}))
