"""Exported C files with continuous actions, compiled and run beside the policies themselves."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, export_c, load_core
from policy_inertia.interop.c_action_rules import RULES as C_RULES
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.one_euro import OneEuro
from policy_inertia.policies.continuous import ContinuousCore
from tests.support.arm import DIMENSIONS, FILTERS, RULES, Arm, DoubleArm, arm_core, compare_box
from tests.support.c_policies import CBoxPolicy, compile_c, needs_compiler
from tests.support.chase import Chase, follow
from tests.support.sb3_box_models import MODELS, Lopsided, trained

OBS = np.array([0.5, -1.0, 2.0], np.float32)
TAKEN = np.array([[2, -1], [0.5, 0.5]])


def exported(policy: ContinuousCore, folder: Path) -> CBoxPolicy:
    return CBoxPolicy(export_c(policy, folder / "policy.c").path, policy.actions.env_shape)


def acts_alike(policy: ContinuousCore, copy: CBoxPolicy, env: Any, n: int = 2) -> np.ndarray:
    return compare_box(policy, env, n, copy.act, copy.reset, copy.memory)


@needs_compiler
@pytest.mark.parametrize("name", FILTERS)
def test_same_actions_and_memory_in_every_step_of_whole_episodes(name: str, tmp_path: Path) -> None:
    policy = FILTERS[name](arm_core())
    for declared in (policy, policy.with_dimensions(DIMENSIONS)):
        actions = acts_alike(declared, exported(declared, tmp_path), Arm(), 4)
        assert actions.std(0).min() > 0.02, "an episode of one action proves nothing"


def test_every_rule_can_be_written() -> None:
    assert set(C_RULES) == set(rule_table.RULES.values())


@needs_compiler
@pytest.mark.parametrize("name", MODELS)
def test_models_of_stable_baselines_act_alike(name: str, tmp_path: Path) -> None:
    trained(name).save(tmp_path / "model.zip")
    core = load_core(tmp_path / "model.zip", Lopsided, normalise=([0.1, -0.2], [0.5, 2.0]))
    policy = core.with_filter(Exponential(0.3)).with_limit(0.1, 0.5)
    acts_alike(policy, exported(policy, tmp_path), Lopsided())


@needs_compiler
def test_actions_of_float64_stay_float64(tmp_path: Path) -> None:
    policy = arm_core(DoubleArm).with_filter(OneEuro(0.05)).with_dimensions(DIMENSIONS)
    acts_alike(policy, exported(policy, tmp_path), DoubleArm())


@needs_compiler
@pytest.mark.parametrize("name", ["butterworth", "filter and limit", "two limits"])
def test_hand_over_starts_from_the_action_that_was_taken(name: str, tmp_path: Path) -> None:
    policy = FILTERS[name](arm_core()).with_dimensions(DIMENSIONS)
    copy = exported(policy, tmp_path)
    first = copy.act(OBS)
    copy.reset_to(TAKEN)
    action, _ = policy.predict(OBS, policy.reset_to(TAKEN))
    np.testing.assert_allclose(copy.act(OBS), action, atol=1e-5)
    assert abs(action - first).max() > 0.1


@needs_compiler
@pytest.mark.parametrize("name", RULES)
def test_settings_can_be_changed_while_it_runs(name: str, tmp_path: Path) -> None:
    policy = arm_core().with_filter(RULES[name])
    copy = exported(policy, tmp_path)
    for setting in RULES[name].settings()[5::9]:
        scale = 1e6 if "limit" in name and name != "rate limit" else 1
        value = setting if scale == 1 else int(setting * scale)
        setattr(copy.state, f"filter_{policy.setting_name}", value)
        copy.reset()  # keeps the setting
        acts_alike(policy.with_setting(value / scale), copy, Arm(), 1)


@needs_compiler
@pytest.mark.parametrize("name", RULES)
def test_settings_out_of_range_still_give_actions_within_their_bounds(
    name: str, tmp_path: Path
) -> None:
    policy = arm_core().with_filter(RULES[name])
    copy, space = exported(policy, tmp_path), Arm.action_space
    field = f"filter_{policy.setting_name}"
    whole = isinstance(getattr(copy.state, field), int)
    for value in (-5, 2**62) if whole else (-5.0, 0.0, 1e300, float("nan"), float("inf")):
        setattr(copy.state, field, value)
        copy.reset()
        for sign in (1, -1, 1):
            assert space.contains(copy.act(sign * OBS))


@needs_compiler
def test_limit_holds_in_every_stretch_whatever_the_sensors_say(tmp_path: Path) -> None:
    rate, burst = 0.02, 0.1
    policy = arm_core().with_limit(rate, burst)
    copy = exported(policy, tmp_path)
    rng = np.random.default_rng(0)
    half = policy.actions.half_range.reshape(2, 2)
    rows = []
    for step in range(300):
        obs = rng.normal(0, 50, 3)
        obs[rng.integers(3)] = np.nan if step % 7 == 3 else np.inf if step % 7 == 5 else 1.0
        rows.append(copy.act(obs) / half)
    moves = np.abs(np.diff(rows, axis=0)).mean((1, 2)) / 2
    total = np.concatenate([[0.0], np.cumsum(moves)])
    for n in (1, 2, 10, 100, 299):
        assert (total[n:] - total[:-n]).max() <= burst + rate * n + 1e-6
    assert moves.sum() > 5


@needs_compiler
def test_network_without_a_number_repeats_the_last_action(tmp_path: Path) -> None:
    for policy in (arm_core(), FILTERS["filter and limit"](arm_core())):
        copy = exported(policy, tmp_path)
        nothing = np.full(3, np.nan, np.float32)
        np.testing.assert_allclose(copy.act(nothing), [[0, 0.125], [0.5, 0.625]], atol=1e-6)
        copy.reset()
        last = copy.act(OBS)
        np.testing.assert_allclose(copy.act(nothing), last, atol=1e-6)


@needs_compiler
def test_filter_that_touches_nothing_is_left_out(tmp_path: Path) -> None:
    policy = arm_core().with_filter(Exponential(0.1)).with_dimensions("untouched")
    copy = exported(policy, tmp_path)
    plain = exported(arm_core(), tmp_path / "plain")
    np.testing.assert_array_equal(copy.act(OBS), plain.act(OBS))
    np.testing.assert_array_equal(copy.act(-OBS), plain.act(-OBS))


@needs_compiler
def test_file_has_no_mutable_globals_and_needs_the_math_library_alone(tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm to list the symbols")
    for name in FILTERS:
        policy = FILTERS[name](arm_core()).with_dimensions(DIMENSIONS)
        path = export_c(policy, tmp_path / "policy.c").path
        listed = subprocess.run(
            ["nm", compile_c(path, "-c")], capture_output=True, text=True, check=True
        ).stdout
        symbols = [line.split()[-2:] for line in listed.splitlines()]
        outside = {symbol for kind, symbol in symbols if kind == "U"} - {"__stack_chk_fail"}
        assert outside <= {"tanhf", "tan", "ceil", "fmin", "fmax", "memset", "memcpy"}
        assert {kind for kind, _ in symbols} <= {"U", "T", "t", "r"}
        public = {symbol for kind, symbol in symbols if kind == "T"}
        assert public == {"policy_init", "policy_reset", "policy_act", "policy_reset_to"}


@needs_compiler
def test_program_of_the_docs_runs_the_file_as_its_own_header(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "continuous.md"
    (program,) = re.findall(r"^```c\n(.*?)^```", page.read_text(), re.M | re.S)
    policy = FILTERS["filter and limit"](arm_core())
    export_c(policy, tmp_path / "policy.c")
    (tmp_path / "program.c").write_text(program)
    path = compile_c(tmp_path / "program.c", str(tmp_path / "policy.c"))
    printed = subprocess.run([path], capture_output=True, text=True, check=True).stdout
    expected, state = [], None
    for step in range(3):
        action, state = policy.predict(np.array([0.5 * step, 0, 0], np.float32), state)
        expected.append(action[0, 0])
    np.testing.assert_allclose([float(line) for line in printed.split()], expected, atol=1e-5)


@dataclass(frozen=True)
class Stranger(Exponential):
    """A rule of somebody else."""


def test_what_cannot_be_written_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for policy, message in (
        (load_core(follow, Chase), "is not known, so it cannot be exported"),
        (arm_core().with_filter(Stranger(0.5)), "the filter Stranger cannot be written as C"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            export_c(policy, tmp_path / "policy.c")
        assert str(caught.value).count("\n") == 0
    assert not list(tmp_path.iterdir())
