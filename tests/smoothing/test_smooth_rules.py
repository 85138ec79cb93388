"""`smooth` with a table of costs and a dwell: what is learned, kept and exported."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, Policy, smooth
from policy_inertia.actions.switching import Switching
from tests.support.exported_episodes import switches_in_files
from tests.support.sb3_models import SB3Model

COSTS = ((0.0, 2.0), (1.0, 0.0))
SHORT: dict[str, Any] = {
    "steps": 600,
    "episodes": 6,
    "calibration_episodes": 4,
    "hidden": (16,),
    "train": True,
}


@pytest.mark.usefixtures("quick_compiler")
def test_controller_plans_with_costs_and_its_files_act_alike(
    sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    quick: dict[str, Any] = {"learning_rate": 1e-3, "target_rate": 0.01, "averaged": None}
    quick["noise_per_token"] = None
    result = smooth(
        path,
        "CartPole-v1",
        limit=(0.3, 2),
        costs=COSTS,
        dwell=2,
        out=tmp_path / "run",
        **SHORT,
        **quick,
    )
    controller = result.candidates["controller"].policy
    assert controller.config.costs == (0.0, 2.0, 1.0, 0.0)
    assert controller.switching == Switching(COSTS, 2)
    assert "spends at most 2 + 0.3 n tokens in n steps, always" in str(result.verdict)
    assert "holds every action for at least 2 steps" in str(result.verdict)
    again = Policy.load(tmp_path / "run")
    assert again.switching == Switching(COSTS, 2)
    assert switches_in_files(controller, gym.make("CartPole-v1"), tmp_path) > 0


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
    switches_in_files(controller, gym.make("CartPole-v1"), tmp_path)


def test_rules_of_switching_are_refused_for_continuous_actions() -> None:
    with pytest.raises(InputError, match="about switches, and the actions are continuous"):
        smooth(lambda obs: np.zeros((len(obs), 1)), "Pendulum-v1", dwell=2)
