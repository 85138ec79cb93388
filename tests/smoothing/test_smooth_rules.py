"""`smooth` with a table of costs and a dwell: what is learned, kept and exported."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest

from policy_inertia import InputError, Policy, export, export_numpy, smooth
from policy_inertia.actions.switching import Switching
from policy_inertia.interop.numpy_runtime import Policy as NumpyPolicy
from tests.support.sb3_models import SB3Model

COSTS = ((0.0, 2.0), (1.0, 0.0))
SHORT: dict[str, Any] = {
    "steps": 600,
    "episodes": 6,
    "calibration_episodes": 4,
    "hidden": (16,),
    "train": True,
}


def check_files(policy: Policy, folder: Path) -> int:
    """Hold the ONNX and the NumPy file against the policy over episodes; give the switches."""
    export(policy, folder / "policy.onnx")
    export_numpy(policy, folder / "policy.npz")
    session = onnxruntime.InferenceSession(folder / "policy.onnx")
    outputs = [o.name for o in session.get_outputs()]
    in_numpy, env, switches = NumpyPolicy(str(folder / "policy.npz")), gym.make("CartPole-v1"), 0
    for seed in range(3):
        obs, _ = env.reset(seed=seed)
        state, done, last = None, False, None
        memory = {name: rows * 0 - 1 for name, rows in policy.memory.initial(1).items()}
        in_numpy.reset()
        while not done:
            action, state = policy.predict(obs, state, None, True)
            values = session.run(outputs, {"observation": obs[None], **memory})
            results = dict(zip(outputs, values, strict=True))
            assert results["action"] == [action]
            assert in_numpy.act(obs) == action
            memory = {
                name: results["action" if name == "previous_action" else f"next_{name}"]
                for name in memory
            }
            switches, last = switches + (last not in (None, action)), action
            obs, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
    return switches


@pytest.mark.usefixtures("quick_compiler")
def test_controller_plans_with_costs_and_its_files_act_alike(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    result = smooth(
        path, "CartPole-v1", limit=(0.3, 2), costs=COSTS, dwell=2, out=tmp_path / "run", **SHORT
    )
    controller = result.candidates["controller"].policy
    assert controller.config.costs == (0.0, 2.0, 1.0, 0.0)
    assert controller.switching == Switching(COSTS, 2)
    assert "spends at most 2 + 0.3 n tokens in n steps, always" in str(result.verdict)
    assert "holds every action for at least 2 steps" in str(result.verdict)
    again = Policy.load(tmp_path / "run")
    assert again.switching == Switching(COSTS, 2)
    assert check_files(controller, tmp_path) > 0


@pytest.mark.usefixtures("quick_compiler")
def test_dial_learns_with_costs_and_every_candidate_keeps_the_dwell(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    result = smooth(path, "CartPole-v1", 0.4, costs=COSTS, dwell=3, out=tmp_path / "run", **SHORT)
    assert list(result.candidates) == ["core", "dwell", "hysteresis", "controller"]
    rules = [candidate.policy.switching for candidate in result.candidates.values()]
    assert rules == [None, *[Switching(COSTS, 3)] * 3]
    assert result.recommended != "core"
    controller = result.candidates["controller"].policy
    assert controller.config.costs == (0.0, 2.0, 1.0, 0.0)
    check_files(controller, tmp_path)


def test_rules_of_switching_are_refused_for_continuous_actions() -> None:
    with pytest.raises(InputError, match="about switches, and the actions are continuous"):
        smooth(lambda obs: np.zeros((len(obs), 1)), "Pendulum-v1", dwell=2)
