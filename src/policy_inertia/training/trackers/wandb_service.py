"""Weights & Biases: online, or offline in the run's folder where the service cannot be reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from policy_inertia.training.trackers.service import PROJECT, Record, TrackedRun

PATIENCE = 20.0
"""Seconds to wait for the service, at the beginning and at the end of a run."""
LOCAL_PATIENCE = 90.0
"""Seconds to wait for wandb's own process on this machine, which may be busy."""


class WandbRun:
    """A run of Weights & Biases. Its own process sends the figures, so nothing here waits."""

    def __init__(self, run: Any) -> None:
        self._run, self.id = run, str(run.id)

    def send(self, records: Sequence[Record]) -> None:
        for record in records:
            self._run.log(record.figures, step=record.step)

    def finish(self, complete: bool) -> None:
        self._run.finish(exit_code=0 if complete else 1)


def open_wandb(run: TrackedRun, run_id: str | None, warn: Callable[[str], None]) -> WandbRun:
    """Open a run in the project that WANDB_PROJECT names, `policy-inertia` by default.

    Args:
        run: The run to open.
        run_id: The run to go on with.
        warn: Takes a sentence if the service cannot be reached; the run is then written to its
            folder, from which `wandb sync` sends it.
    """
    import wandb

    def begin(mode: Literal["offline"] | None) -> WandbRun:
        return WandbRun(
            wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=run.name,
                id=run_id,
                resume="allow" if run_id else None,
                dir=run.folder,
                config=run.settings,
                mode=mode,
                reinit="create_new",
                settings=wandb.Settings(
                    silent=True,  # it would write over the progress bar, and ask for a key there
                    console="off",
                    init_timeout=PATIENCE if mode is None else LOCAL_PATIENCE,
                    finish_timeout=PATIENCE,
                ),
            )
        )

    try:
        return begin(None)  # as WANDB_MODE says
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
        warn(
            f"wandb cannot be reached ({reason}): training goes on and logs to {run.folder}/wandb; "
            f"'wandb sync {run.folder}/wandb/offline-run-*' sends it later"
        )
        return begin("offline")
