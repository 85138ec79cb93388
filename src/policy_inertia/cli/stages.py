"""The progress of `train` and `smooth`: one stage after the other, each with its own bar."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from policy_inertia.cli.progress import counting, training_progress
from policy_inertia.cli.view import out, say

TRAINING = "training"


@contextlib.contextmanager
def staged_progress(steps: int, quiet: bool) -> Iterator[Stages]:
    """Show stages, one of which trains for so many steps; with `quiet`, lines instead of bars."""
    with contextlib.ExitStack() as stack:
        yield Stages(steps, quiet or not out.is_terminal, stack)


class Stages:
    """Shows one stage at a time.

    Args:
        steps: Steps of the training.
        plain: Print lines instead of bars.
        stack: Holds the display of the stage that is under way.
    """

    def __init__(self, steps: int, plain: bool, stack: contextlib.ExitStack) -> None:
        self.steps, self.plain, self._stack = steps, plain, stack
        self._stage = ""
        self._show: Callable[..., None] = lambda *_: None

    def watch(self, stage: str, done: int, of: int) -> None:
        """Show how many parts of a stage are finished."""
        self._enter(stage, lambda: counting(stage, of, self.plain))
        self._show(done, of)

    def start_training(self) -> None:
        """Show the training before its first figures are known."""
        self._enter(TRAINING, lambda: training_progress(self.steps, self.plain))

    def train(self, step: int, figures: dict[str, Any], speed: float) -> None:
        """Show the training: the step, the newest figures and the steps per second."""
        self.start_training()
        self._show(step, figures, speed)

    def _enter(self, stage: str, display: Callable[[], Any]) -> None:
        if stage == self._stage:
            return
        self._stack.close()
        self._stage, self._show = stage, self._stack.enter_context(display())
        if self.plain:
            say(stage)
