"""Policy files: what they declare is compared with what they hold before anything is made."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Policy
from policy_inertia.policies.policy_file import shapes_of
from policy_inertia.storage import read_arrays, write_arrays
from tests.support.policies import fresh


def changed(tmp_path: Path, /, **changes: Any) -> Path:
    """The file of a policy, with other values in its description."""
    path = tmp_path / "policy.safetensors"
    fresh("dqn", hidden=(8,)).save(path)
    arrays, about = read_arrays(path)
    for name, value in changes.items():
        old: Any = about.get(name)
        tables = isinstance(old, dict) and isinstance(value, dict)
        about[name] = {**old, **value} if tables else value
    write_arrays(path, arrays, about)
    return path


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value: float, tmp_path: Path) -> None:
    path = changed(tmp_path)
    arrays, about = read_arrays(path)
    name = sorted(arrays)[-1]
    arrays[name] = arrays[name].copy()
    arrays[name].flat[-1] = value
    write_arrays(path, arrays, about)
    with pytest.raises(InputError, match=f"holds NaN or infinity in '{name}', so it cannot act"):
        Policy.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"spaces": {"obs_shape": [10**7]}},
        {"spaces": {"obs_shape": [], "n_states": 10**8}},
        {"spaces": {"actions": {"kind": "discrete", "n": 10**8, "first": 0}}},
        {"config": {"hidden": [10**7]}},
        {"config": {"hidden": [10**5, 10**5]}},
        {"repeats": list(range(1, 10**5))},
        {"spaces": {"obs_shape": [3, 20_000, 20_000], "pixels": True}},
    ],
)
def test_a_small_file_that_declares_a_huge_network_asks_for_no_memory(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    path = changed(tmp_path, **changes)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="is expected: it was written with other settings"):
            Policy.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", ["dqn", "sac", "nsac", "dial-dqn", "gate-sac"])
def test_shapes_are_those_of_the_parameters(method: str) -> None:
    policy = fresh(method, hidden=(8,))
    shapes = shapes_of(policy.config.build(policy.spaces.spec))
    assert jax.tree.map(lambda leaf: leaf.shape, shapes) == jax.tree.map(
        lambda leaf: leaf.shape, policy.params
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "dqm"}, "cannot be used: .*dqm.*did you mean"),
        ({"method": None}, "cannot be used: method is None: it must be a text"),
        ({"config_class": "Popen"}, "its settings are those of Popen: expected those of dqn"),
        ({"config": {"gamma_": 1}}, "'gamma_' is no setting of DQNConfig"),
        ({"config": {"hidden": "x"}}, "hidden is 'x': it must be a list"),
        ({"spaces": {"obs_shape": [-4]}}, "observations of shape"),
        ({"spaces": {"obs_shape": [10**6, 10**6]}}, "expected 1 to 2147483648 numbers"),
        ({"spaces": {"obs_shape": [4], "pixels": True}}, "images of shape"),
        ({"spaces": {"actions": 5}}, "it holds 5: it must be a table"),
        ({"spaces": {"actions": {"kind": "sphere"}}}, "the actions are of kind 'sphere'"),
        ({"spaces": {"actions": {"kind": "discrete", "n": 0}}}, "0 actions from 0 on"),
        ({"repeats": []}, "repeats is"),
        ({"repeats": [1.5]}, r"repeats\[0\] is 1.5: it must be a whole number"),
        ({"hysteresis": "x"}, "hysteresis is 'x': it must be a number or a list"),
        ({"task": 5}, "task is 5: it must be a text"),
        ({"env_kwargs": 5}, "env_kwargs is 5: it must be a table"),
        ({"calibration": 5}, "calibration is 5: it must be a table"),
        ({"core": 5}, "core is 5: it must be a table"),
        ({"unknown": 5}, "'unknown' is no setting of PolicyDescription"),
    ],
)
def test_a_mistyped_description_is_refused_in_one_sentence(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = changed(tmp_path, **changes)
    with pytest.raises(InputError, match=message) as error:
        Policy.load(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
