"""Boxes of actions that cannot be used are refused in one sentence, wherever they come in."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import (
    Exponential,
    InputError,
    RecordOscillation,
    SmoothActions,
    calibrate_filter,
    evaluate,
    load_core,
    smooth,
)
from policy_inertia.evaluation.recording import record
from policy_inertia.networks.layers import Linear
from tests.cli.conftest import Run
from tests.support.chase import Chase, Follower, follow

BOXES: dict[str, tuple[gym.Space[Any], str]] = {
    "unbounded": (gym.spaces.Box(-np.inf, np.inf, (2,)), "has no lower and no upper bound"),
    "half-bounded": (gym.spaces.Box(0, np.inf, (2,)), "has no upper bound"),
    "whole numbers": (gym.spaces.Box(-2, 2, (2,), np.int64), "are of type int64"),
    "empty": (gym.spaces.Box(-2, 2, (0,)), r"actions of shape \[0\]"),
    "without a range": (gym.spaces.Box(1, 1, (2,)), "there is nothing to choose"),
}
PATHS: dict[str, Callable[[Any], Any]] = {
    "load_core": partial(load_core, follow),
    "smooth": partial(smooth, follow),
    "evaluate": partial(evaluate, Follower(), episodes=1),
    "record": partial(record, Follower(), frames=False),
    "SmoothActions": lambda env: SmoothActions(env(), rule=Exponential(0.5)),
    "RecordOscillation": lambda env: RecordOscillation(env()),
    "calibrate_filter": partial(
        calibrate_filter, load_core(follow, Chase).with_filter(Exponential(0.5))
    ),
}

IDENTITY = (Linear(np.eye(2, dtype=np.float32) / 2, np.zeros(2, np.float32)),)


def chase_with(space: gym.Space[Any]) -> Any:
    class Other(Chase):
        action_space = space

    return Other


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("path", PATHS)
def test_box_that_cannot_be_used_is_refused_in_one_sentence(box: str, path: str) -> None:
    space, says = BOXES[box]
    with pytest.raises(InputError, match=says) as error:
        PATHS[path](chase_with(space))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("box", BOXES)
def test_commands_refuse_it_too(box: str, run: Run, tmp_path: Path) -> None:
    space, says = BOXES[box]
    gym.register("Bad-v0", chase_with(space))
    try:
        core = load_core(follow, Chase).on("Bad-v0")
        core = type(core).from_layers("x", core.spaces, IDENTITY, core.space)
        core.save(tmp_path / "x.safetensors")
        for command in (("evaluate", "--env", "Bad-v0"), ("smooth", "Bad-v0")):
            code, _, error = run(command[0], tmp_path / "x.safetensors", *command[1:])
            assert code == 2
            assert re.search(says, error)
            assert error.count("\n") == 1
    finally:
        del gym.registry["Bad-v0"]
