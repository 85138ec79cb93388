"""A training that takes no time: its returns depend on the learning rate alone."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.errors import DivergenceError
from policy_inertia.storage import write_json
from policy_inertia.tuning import tune as module
from policy_inertia.tuning.search_spaces import Range, Space

SPACE: Space = {"learning_rate": Range(1e-4, 1e-1, log=True)}
BEST = 1e-3
"""The learning rate with the largest return."""
Train = Callable[..., None]


def height(learning_rate: float) -> float:
    return 100.0 - abs(math.log10(learning_rate / BEST)) * 30


class Training:
    """Stands in for `run`.

    Attributes:
        trained: The folders and the learning rates of all calls.
        stop: Called at each step; raises to stop the training.
        diverges: Learning rates above it end in NaN.
    """

    def __init__(self) -> None:
        self.trained: list[tuple[str, float]] = []
        self.stop: Callable[[str, int], None] = lambda folder, step: None
        self.diverges = math.inf

    def __call__(
        self, config: Any, out: Path, env: Any, resume: bool, *args: Any, loggers: Any
    ) -> None:
        rate = config.config.learning_rate
        self.trained.append((out.name, rate))
        out.mkdir(exist_ok=True)
        about = {"format": 2, "config": config.to_dict(), "versions": {}}
        write_json(out / "run.json", about)
        if rate > self.diverges:
            raise DivergenceError("training diverged")
        for step in range(0, config.steps + 1, config.eval_every):
            self.stop(out.name, step)
            value = height(rate) * step / config.steps
            loggers[0].log(step, {"eval/return": value, "eval/oscillation_ratio": 0.5}, 1.0)
        figures = {"return": height(rate), "oscillation_ratio": 0.5, "length": 1.0}
        figures |= {"termination_rate": 0.0}
        result = {"sampled": figures, "greedy": figures}
        write_json(out / "result.json", {"format": 2, "step": config.steps, **result})


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Training:
    fake = Training()
    monkeypatch.setattr(module, "run", fake)
    return fake
