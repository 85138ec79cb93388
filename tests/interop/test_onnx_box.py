"""Exported policies with continuous actions in onnxruntime, beside the policies themselves."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from policy_inertia import InputError, export, load_core
from policy_inertia.interop import onnx_out
from policy_inertia.interop.description import PolicyDescription, describe
from policy_inertia.interop.onnx_in import session
from policy_inertia.networks.layers import Rescale
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.rule import Values
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.memory import PREVIOUS_ACTION
from tests.support.arm import (
    DIMENSIONS,
    FILTERS,
    RULES,
    Arm,
    DoubleArm,
    arm_core,
    box_episodes,
    compare_box,
)
from tests.support.chase import Chase, follow
from tests.support.onnx_box_policy import OnnxBoxPolicy
from tests.support.sb3_box_models import MODELS, Lopsided, trained


def acts_alike(policy: ContinuousCore, path: Path, env: Any, n: int = 2) -> np.ndarray:
    copy = OnnxBoxPolicy(export(policy, path).path)
    return compare_box(policy, env, n, copy.act, copy.reset, lambda name: copy.memory[name][0])


@pytest.mark.parametrize("name", FILTERS)
def test_same_actions_and_memory_in_every_step_of_whole_episodes(name: str, tmp_path: Path) -> None:
    policy = FILTERS[name](arm_core())
    for declared in (policy, policy.with_dimensions(DIMENSIONS)):
        actions = acts_alike(declared, tmp_path / "p.onnx", Arm())
        assert actions.std(0).min() > 0.02, "an episode of one action proves nothing"


def test_every_rule_is_among_these_policies() -> None:
    assert {rule.name for rule in RULES.values()} == set(rule_table.RULES)


@pytest.mark.parametrize("name", MODELS)
def test_models_of_stable_baselines_act_alike(name: str, tmp_path: Path) -> None:
    trained(name).save(tmp_path / "model.zip")
    statistics = ([0.1, -0.2], [0.5, 2.0])
    for normalise in (None, statistics):
        core = load_core(tmp_path / "model.zip", Lopsided, normalise=normalise)
        for policy in (core, core.with_filter(Exponential(0.3)).with_limit(0.1, 0.5)):
            acts_alike(policy, tmp_path / "p.onnx", Lopsided())


def test_actions_of_float64_stay_float64(tmp_path: Path) -> None:
    acts_alike(arm_core(DoubleArm).with_filter(Exponential(0.5)), tmp_path / "p.onnx", DoubleArm())


def test_filter_that_touches_nothing_changes_nothing(tmp_path: Path) -> None:
    policy = FILTERS["filter and limit"](arm_core()).with_dimensions("untouched")
    path = export(policy, tmp_path / "p.onnx").path
    copy = OnnxBoxPolicy(path)
    for obs, *_, action, _ in box_episodes(arm_core(), Arm(), 1):
        np.testing.assert_allclose(copy.act(obs), action, atol=1e-5)


def test_hand_over_starts_from_the_action_that_was_taken(tmp_path: Path) -> None:
    policy = arm_core().with_filter(Exponential(0.1)).with_dimensions(DIMENSIONS)
    copy = OnnxBoxPolicy(export(policy, tmp_path / "p.onnx").path)
    obs = np.array([0.5, -1.0, 2.0], np.float32)
    taken = np.array([[-2, 1.25], [0.5, 0.75]], np.float32)
    copy.memory[PREVIOUS_ACTION] = taken[None]
    action, _ = policy.predict(obs, policy.reset_to(taken))
    np.testing.assert_allclose(copy.act(obs), action, atol=1e-6)
    copy.reset()
    assert abs(copy.act(obs) - action).max() > 0.1


def test_start_of_an_episode_is_told_by_the_previous_action_alone(tmp_path: Path) -> None:
    copy = OnnxBoxPolicy(export(FILTERS["filter and limit"](arm_core()), tmp_path / "p.onnx").path)
    obs = np.array([0.5, -1.0, 2.0], np.float32)
    first = copy.act(obs)
    copy.act(-obs)
    copy.memory[PREVIOUS_ACTION] = np.full((1, 2, 2), np.nan, np.float32)
    np.testing.assert_array_equal(copy.act(obs), first)


def test_observation_that_is_not_a_number_repeats_the_last_action(tmp_path: Path) -> None:
    for policy in (arm_core(), arm_core().with_limit(0.05, 0.1)):
        copy = OnnxBoxPolicy(export(policy, tmp_path / "p.onnx").path)
        nothing = np.full(3, np.nan, np.float32)
        np.testing.assert_allclose(copy.act(nothing), [[0, 0.125], [0.5, 0.625]], atol=1e-6)
        copy.act(np.array([0.5, -1.0, 2.0], np.float32))
        last = copy.memory[PREVIOUS_ACTION][0]
        np.testing.assert_allclose(copy.act(nothing), last, atol=1e-6)
        assert all(np.isfinite(rows).all() for rows in copy.memory.values())


def test_file_describes_itself(tmp_path: Path) -> None:
    policy = arm_core().with_filter(Exponential(0.3)).with_limit(0.1, 0.5)
    path = export(policy.with_dimensions(DIMENSIONS), tmp_path / "p.onnx").path
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    shapes = {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*model.graph.input, *model.graph.output)
    }
    assert shapes["observation"] == ["batch", 3]
    assert shapes["previous_action"] == shapes["action"] == ["batch", 2, 2]
    assert shapes["filter_output"] == shapes["next_filter_output"] == ["batch", 3]
    assert shapes["limit_tokens"] == shapes["next_limit_tokens"] == ["batch", 1]
    assert "probabilities" not in shapes
    used = {name for node in model.graph.node for name in node.input}
    assert {constant.name for constant in model.graph.initializer} <= used
    props = {p.key: p.value for p in model.metadata_props}
    about = json.loads(props["policy_inertia"])
    assert about["filter"] == {"name": "exponential", "alpha": 0.3}
    assert about["limit"] == {"rate": 0.1, "burst": 0.5, "per_dimension": False}
    assert about["dimensions"] == list(DIMENSIONS)
    assert json.loads(props["low"]) == [-2, -1, 0, 0.5]


def test_batches_of_any_size_are_run(tmp_path: Path) -> None:
    policy = FILTERS["filter and limit"](arm_core())
    run = session(export(policy, tmp_path / "p.onnx").path)
    obs = np.random.default_rng(0).normal(0, 2, (7, 3)).astype(np.float32)
    state = policy.memory.initial(7)
    feed = {**state, PREVIOUS_ACTION: np.full((7, 2, 2), np.nan, np.float32), "observation": obs}
    action = run.run(["action"], feed)[0]
    np.testing.assert_allclose(action, policy.predict(obs, state)[0], atol=1e-5)


def test_graph_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(policy: ContinuousCore, dial: bool) -> PolicyDescription:
        description = describe(policy)
        shift = Rescale(np.full(4, -0.001, np.float32), np.ones(4, np.float32))
        return dataclasses.replace(description, core=(*description.core, shift))

    monkeypatch.setattr(onnx_out, "describe", wrong)
    with pytest.raises(InputError, match=r"differs from ContinuousCore\(arm.* nothing was written"):
        export(arm_core().with_filter(Exponential(0.9)), tmp_path / "p.onnx")
    assert not list(tmp_path.iterdir())


@dataclasses.dataclass(frozen=True)
class Stranger(Exponential):
    """A rule with a function that no graph has."""

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        return np.sinh(x), memory


@dataclasses.dataclass(frozen=True)
class Branching(Exponential):
    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        return (x, memory) if (x > 0).all() else super().step(x, memory)


@dataclasses.dataclass(frozen=True)
class Cubic(Exponential):
    """A rule of somebody else, of known functions."""

    def step(self, x: np.ndarray, memory: Values) -> tuple[np.ndarray, Values]:
        y = np.clip(memory["output"] + self.alpha * (x - memory["output"]) * abs(x), -1, 1)
        return y, {"output": y}


def test_rules_of_others_are_exported_if_their_functions_are_known(tmp_path: Path) -> None:
    acts_alike(arm_core().with_filter(Cubic(0.9)), tmp_path / "p.onnx", Arm())
    for rule, name in ((Stranger(0.5), r"numpy\.sinh"), (Branching(0.5), r"ndarray\.all")):
        with pytest.raises(InputError, match=f"the policy's filter uses {name}, which cannot"):
            export(arm_core().with_filter(rule), tmp_path / "q.onnx")


def test_what_has_no_network_or_no_dial_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not known, so it cannot be exported"):
        export(load_core(follow, Chase), tmp_path / "p.onnx")
    with pytest.raises(InputError, match="has no dial: export it without one"):
        export(arm_core(), tmp_path / "p.onnx", dial=True)


def test_file_makes_no_noise_in_onnxruntime(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import onnxruntime

    for name in ("nothing", "filter and limit"):
        path = export(FILTERS[name](arm_core()), tmp_path / "p.onnx").path
        onnxruntime.InferenceSession(str(path))  # with its own settings, which show warnings
    assert capfd.readouterr().err == ""
