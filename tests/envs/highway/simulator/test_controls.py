"""Actions become the accelerations and steering angles that highway-env computes, to the bit."""

from typing import Any

import numpy as np
import pytest
from highway_env.envs.common.action import ContinuousAction

from policy_inertia.envs.highway.simulator.controls import CONTINUOUS, control_names, controls


class _Vehicle:
    pass


class _Env:
    vehicle = _Vehicle()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"clip": False, "acceleration_range": [-7, 2.5], "steering_range": [-0.3, 0.1]},
        {"lateral": False},
        {"longitudinal": False},
    ],
)
def test_controls_are_highway_envs(options: dict[str, Any], kind: type[np.floating]) -> None:
    action = CONTINUOUS | options
    original = ContinuousAction(_Env(), **action)
    n = len(control_names(action))
    assert original.space().shape == (n,)
    values = np.random.default_rng(0).uniform(-1.5, 1.5, (500, n)).astype(kind)
    values = np.concatenate([values, np.zeros((1, n), kind), np.ones((1, n), kind)])
    acceleration, steering = controls(action, values)
    theirs = [original.get_action(value) for value in values]
    assert acceleration.astype(float).tolist() == [float(t["acceleration"]) for t in theirs]
    assert steering.astype(float).tolist() == [float(t["steering"]) for t in theirs]


def test_the_defaults_are_highway_envs() -> None:
    original = ContinuousAction(_Env())
    for name, value in CONTINUOUS.items():
        if name != "type":
            theirs = getattr(original, name)
            assert (list(theirs) if isinstance(theirs, tuple) else theirs) == value
