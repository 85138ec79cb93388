"""Exported controllers of continuous actions, run beside their policies through whole episodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.errors import InputError
from policy_inertia.interop import c_box_controllers, numpy_runtime, onnx_box_controllers
from policy_inertia.policies.probing import read_spaces
from tests.support.arm import Arm, arm_core, compare_box
from tests.support.box_controllers import LARGEST, OWN, around, random_controller
from tests.support.c_policies import CBoxPolicy, needs_compiler
from tests.support.chase import Chase, follow
from tests.support.onnx_box_policy import OnnxBoxPolicy
from tests.support.sb3_box_models import Lopsided, trained

OBS = np.array([0.5, -1.0, 2.0], np.float32)


def sb3_core() -> Any:
    return pi.load_core(trained("sac"), Lopsided)


POLICIES: dict[str, Any] = {
    **{name: lambda name=name: random_controller(name, read_spaces(Arm)[1]) for name in OWN},
    "around a core": lambda: around(arm_core()),
    "around a model of Stable-Baselines3": lambda: around(sb3_core()),
    "squared cost": lambda: around(arm_core(), cost="squared"),
    "free": lambda: around(arm_core(), full=True),
    "half of the core": lambda: around(arm_core()).at(-LARGEST / 2),
    "the core itself": lambda: around(arm_core()).at(-LARGEST),
    "limit": lambda: around(arm_core()).with_limit(0.05, burst=0.3),
}
"""From their names to functions that make them."""


def acts_alike(name: str, policy: pi.Policy, copy: Any, memory: Any) -> np.ndarray:
    env = Lopsided() if "Stable" in name else Arm()
    actions = compare_box(policy, env, 3, copy.act, copy.reset, memory)
    assert actions.std(0).mean() > 0.02, "an episode of one action proves nothing"
    return actions


@pytest.mark.parametrize("name", POLICIES)
def test_onnx_file_acts_as_the_policy_in_whole_episodes(name: str, tmp_path: Path) -> None:
    policy = POLICIES[name]()
    exported = pi.export(policy, tmp_path / "p.onnx")
    assert exported.difference < 1e-4
    copy = OnnxBoxPolicy(exported.path)
    acts_alike(name, policy, copy, lambda name: copy.memory[name][0])


@pytest.mark.parametrize("name", POLICIES)
def test_numpy_file_acts_as_the_policy_in_whole_episodes(name: str, tmp_path: Path) -> None:
    policy = POLICIES[name]()
    copy = numpy_runtime.Policy(str(pi.export_numpy(policy, tmp_path / "p.npz").path))
    acts_alike(name, policy, copy, lambda name: copy.state[name][0])


@needs_compiler
@pytest.mark.parametrize("name", POLICIES)
def test_c_file_acts_as_the_policy_in_whole_episodes(name: str, tmp_path: Path) -> None:
    policy = POLICIES[name]()
    actions: Any = policy.spaces.actions
    copy = CBoxPolicy(pi.export_c(policy, tmp_path / "p.c").path, actions.env_shape)
    acts_alike(name, policy, copy, copy.memory)


@needs_compiler
def test_price_in_c_can_be_changed_while_it_runs(tmp_path: Path) -> None:
    policy = around(arm_core())
    copy = CBoxPolicy(pi.export_c(policy, tmp_path / "p.c").path, (2, 2))
    for price in (-LARGEST, -0.3, 0.0, 0.01, LARGEST, 10 * LARGEST):
        copy.state.price = price
        copy.reset()  # keeps the setting
        compare_box(policy.at(price), Arm(), 1, copy.act, copy.reset, copy.memory)
    for price in (float("nan"), float("inf"), -1e300):
        copy.state.price = price
        assert Arm.action_space.contains(copy.act(OBS))


@needs_compiler
def test_hand_over_starts_from_the_action_that_was_taken(tmp_path: Path) -> None:
    policy, taken = around(arm_core()), np.array([[2, -1], [0.5, 0.5]])
    copy = CBoxPolicy(pi.export_c(policy, tmp_path / "p.c").path, (2, 2))
    first = copy.act(OBS)
    copy.reset_to(taken)
    action, _ = policy.predict(OBS, policy.reset_to(taken))
    np.testing.assert_allclose(copy.act(OBS), action, atol=1e-5)
    assert abs(action - first).max() > 0.05


@needs_compiler
def test_network_without_a_number_repeats_the_last_action(tmp_path: Path) -> None:
    nothing = np.full(3, np.nan, np.float32)
    for name in (*OWN, "around a core", "free"):
        copy = CBoxPolicy(pi.export_c(POLICIES[name](), tmp_path / "p.c").path, (2, 2))
        last = copy.act(OBS)
        np.testing.assert_allclose(copy.act(nothing), last, atol=1e-6, err_msg=name)


def test_every_rule_can_be_written_in_every_form() -> None:
    assert set(c_box_controllers.RULES) == set(onnx_box_controllers.RULES)


def test_core_without_a_known_network_is_refused_in_one_sentence(tmp_path: Path) -> None:
    policy = around(pi.load_core(follow, Chase))
    for write, name in ((pi.export, "p.onnx"), (pi.export_numpy, "p.npz"), (pi.export_c, "p.c")):
        with pytest.raises(InputError, match="is not known, so it cannot be exported"):
            write(policy, tmp_path / name)
    assert not list(tmp_path.iterdir())
