"""A dial for which not every switch costs the same."""

from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError, evaluate, export, export_c, train
from policy_inertia.algorithms.controllers import prices
from tests.support import probes

COSTS = np.array([[0, 1, 3], [1, 0, 1], [2, 1, 0]], np.float32)


def test_charge_and_value_follow_the_table() -> None:
    before, after = np.array([0, 0, 2, 1, -1]), np.array([2, 0, 0, 2, 1])
    charged = np.asarray(prices.charge(0.5, before, after, 0.1, COSTS))
    np.testing.assert_allclose(charged, [1.45, -0.05, 0.95, 0.45, 0], atol=1e-6)
    u, last = np.zeros((2, 3), np.float32), np.eye(4, dtype=np.float32)[[0, 3], :3]
    assert prices.net(u, 0.5, last, COSTS).tolist() == [[0, -0.5, -1.5], [0, 0, 0]]


def test_equal_costs_choose_as_no_costs() -> None:
    rng = np.random.default_rng(0)
    u, last = rng.normal(size=(50, 3)), np.eye(3)[rng.integers(0, 3, 50)]
    equal = prices.net(u, 0.3, last, 1 - np.eye(3))
    assert (equal.argmax(1) == prices.net(u, 0.3, last).argmax(1)).all()


def test_dial_learns_which_switch_is_dear(tmp_path: Path) -> None:
    dear = (0.0, 100.0, 0.0, 0.0)  # away from action 0 at a high cost, back for nothing
    policy = train(
        "dial-dqn",
        probes.Switch,
        tmp_path / "run",
        steps=600,
        learning_starts=100,
        costs=dear,
        eval_episodes=2,
        final_episodes=2,
        calibration_episodes=2,
    )
    assert policy.largest_price is not None
    episodes = evaluate(policy.at(policy.largest_price), probes.Switch, 5, 0, True).episodes
    assert all((np.diff(e.actions) <= 0).all() for e in episodes)  # from 0 it never leaves
    export(policy.at(policy.largest_price), tmp_path / "policy.onnx")
    export(policy, tmp_path / "dial.onnx", dial=True)
    with pytest.raises(InputError, match="which C files do not know"):
        export_c(policy, tmp_path / "policy.c")


def test_wrong_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="costs has 3 numbers: give 4"):
        train("dial-dqn", probes.Switch, tmp_path / "run", steps=10, costs=(0.0, 1.0, 1.0))
