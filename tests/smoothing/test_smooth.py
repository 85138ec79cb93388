"""`smooth`: the core is not changed, and the recommended policy is no worse."""

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest

from policy_inertia import (
    InputError,
    Limit,
    Policy,
    SmoothActions,
    calibrate,
    evaluate,
    export,
    load_core,
    smooth,
)
from policy_inertia.calibration.measurements import opened
from policy_inertia.interop.onnx_in import session
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.spaces_with_core import SpacesWithCore
from policy_inertia.run_settings import settings
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.smoothing.controller import Training
from policy_inertia.smoothing.goals import BudgetGoal
from policy_inertia.smoothing.lab import Lab
from policy_inertia.smoothing.measured import Measured
from policy_inertia.smoothing.smooth_folder import folder_name
from tests.support import probes
from tests.support.cores import bright, jittery, light, unsure
from tests.support.policies import fresh
from tests.support.sb3_models import SB3Model
from tests.support.switch_counter import violations_of_episodes

SHORT: dict[str, Any] = {
    "steps": 4_000,
    "episodes": 40,
    "calibration_episodes": 20,
    "learning_rate": 1e-3,
    "train": True,
}


FEW: dict[str, Any] = {"episodes": 40, "calibration_episodes": 20}


def refuse_training(*_: Any, **__: Any) -> None:
    raise AssertionError("nothing is to be trained")


def test_env_object_is_copied_with_its_arguments() -> None:
    env = gym.make("CartPole-v1", max_episode_steps=15)
    result = smooth(fresh("dqn"), env, 1.0, hysteresis_only=True, **FEW)
    assert (result.policy.task, result.policy.env_kwargs) == (
        "CartPole-v1",
        {"max_episode_steps": 15},
    )


def test_core_that_meets_the_budget_is_recommended_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.controller.run", refuse_training)
    result = smooth(jittery, probes.DeadZone, 0.9, out=tmp_path / "run", **FEW)
    assert list(result.candidates) == ["core"]
    assert result.recommended == "core"
    assert "it already meets the budget of 0.9" in str(result)
    assert "Nothing was trained. --train trains a controller nevertheless." in str(result)
    assert (tmp_path / "run" / "policy.safetensors").exists()


def test_filter_that_keeps_the_budget_without_a_loss_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.controller.run", refuse_training)
    result = smooth(unsure, probes.DeadZone, 0.15, out=tmp_path / "run", **FEW)
    assert list(result.candidates) == ["core", "hysteresis"]
    assert result.recommended == "hysteresis"
    assert not result.trained
    assert "it loses 0.0% [0.0%, 0.0%] of what the core gains over random actions" in str(result)
    with pytest.raises(AssertionError, match="nothing is to be trained"):
        smooth(unsure, probes.DeadZone, 0.15, out=tmp_path / "x", train=True, **FEW)


def test_filter_with_a_loss_is_followed_by_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.controller.run", refuse_training)
    with pytest.raises(AssertionError, match="nothing is to be trained"):
        smooth(bright, probes.Lights, 0.1, out=tmp_path / "run", **FEW)


def test_filter_within_a_limit_without_a_loss_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy_inertia.smoothing.controller.run", refuse_training)
    result = smooth(unsure, probes.DeadZone, limit=Limit(0.3, 4), out=tmp_path / "run", **FEW)
    assert list(result.candidates) == ["core", "filter", "hysteresis"]
    assert result.recommended == "hysteresis"
    assert list(result.frontiers) == ["hysteresis"]
    table = result.frontiers["hysteresis"]
    assert table == result.policy.calibration
    assert max(row.figures["oscillation_ratio"] or 0 for row in table.rows) <= 0.3 + 4 / 19
    assert "budget  hysteresis (threshold)" in str(result)
    assert "on other episodes, all within the limit." in str(result)


def test_folder_is_refused_to_another_core_and_kept_from_a_second_run(tmp_path: Path) -> None:
    few: dict[str, Any] = {"hysteresis_only": True, "out": tmp_path / "run", **FEW}
    smooth(unsure, probes.DeadZone, 0.1, **few)
    with pytest.raises(InputError, match="holds a smoothed policy already: add --resume"):
        smooth(unsure, probes.DeadZone, 0.2, **few)
    with pytest.raises(InputError, match="was started around unsure and the core is now jittery"):
        smooth(jittery, probes.DeadZone, 0.2, resume=True, **few)
    looser = smooth(unsure, probes.DeadZone, 0.9, resume=True, **few)
    assert looser.recommended == "core"


def test_resume_in_a_folder_with_nothing_to_resume_is_warned_of_once(tmp_path: Path) -> None:
    short = {**SHORT, "steps": 200, "calibration_episodes": 2}
    messages: list[str] = []
    smooth(
        jittery,
        probes.DeadZone,
        0.1,
        out=tmp_path / "run",
        resume=True,
        warn=messages.append,
        **short,
    )
    (warning,) = messages
    assert warning.endswith("run holds nothing to resume: the smoothing starts from the beginning")


def test_folder_of_a_smoothing_that_was_stopped_is_called_unfinished(tmp_path: Path) -> None:
    def stop(stage: str, done: int, of: int) -> None:
        if stage == "calibrating hysteresis":
            raise KeyboardInterrupt

    few: dict[str, Any] = {"out": tmp_path / "run", "hysteresis_only": True, **FEW}
    with pytest.raises(KeyboardInterrupt):
        smooth(unsure, probes.DeadZone, 0.15, watch=stop, **few)
    with pytest.raises(InputError, match="holds an unfinished smoothing: add --resume to go on"):
        smooth(unsure, probes.DeadZone, 0.15, **few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = smooth(unsure, probes.DeadZone, 0.15, resume=True, **few)
    assert result.recommended == "hysteresis"


def test_default_folders_of_two_cores_differ() -> None:
    names = [
        folder_name("CartPole-v1", core, digest, "smooth", 0).name
        for core, digest in (
            ("a/jittery.zip", "0123456789abcdef"),
            ("b/jittery.zip", "fedcba9876543210"),
            ("<lambda>", "0123456789abcdef"),
        )
    ]
    assert names == [
        "CartPole-v1-smooth-jittery-012345-0",
        "CartPole-v1-smooth-jittery-fedcba-0",
        "CartPole-v1-smooth-lambda-012345-0",
    ]


def test_default_folder_is_named_by_the_core_and_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = smooth(unsure, probes.DeadZone, 0.9, **FEW)
    assert result.recommended == "core"
    digest = load_core(unsure, probes.DeadZone).digest
    (folder,) = Path("runs").iterdir()
    assert folder.name == f"DeadZone-smooth-unsure-{digest[:6]}-0"


def test_best_controller_that_was_evaluated_is_used_and_not_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[int] = []

    def second(self: Lab, policies: list[Policy], budget: float) -> int:
        chosen.append(len(policies))
        return 2

    monkeypatch.setattr(Lab, "best_at_budget", second)
    brief = {**SHORT, "steps": 500}
    result = smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "run", **brief)
    assert chosen == [5]  # the last one first, then those of 100, 200, 300 and 400 steps
    core, run = load_core(jittery, probes.DeadZone), tmp_path / "run" / "controller"
    evaluated = Policy.load(run / "evaluated-200.safetensors", core)
    used = result.candidates["controller"].policy.params.controller.critics
    for ours, theirs in zip(
        jax.tree.leaves(used), jax.tree.leaves(evaluated.params.controller.critics), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_controllers_are_compared_at_the_same_oscillation_on_episodes_of_their_own() -> None:
    config = settings("sac", "CartPole-v1", seed=3, calibration_episodes=4)
    policies = [fresh("sac", probes.DeadZone, hidden=(8,)).replace(hysteresis=None)] * 2
    stages: list[tuple[str, int, int]] = []
    with opened(probes.DeadZone, 4, None) as envs:
        lab = Lab(envs, config, 4, lambda *stage: stages.append(stage))
        assert lab.best_at_budget(policies[:1], 0.1) == 0
        assert stages == []
        assert lab.best_at_budget(policies, 0.1) == 0  # equal: the last one, which comes first
        assert lab.best_within(policies, Limit(0.1, 2)) == 0
    assert {stage for stage, _, _ in stages} == {"choosing a controller"}


def test_search_close_to_the_budget_is_watched() -> None:
    coarse = calibrate(
        fresh("sac", probes.Both, hidden=(8,)), probes.Both, 8, 0, settings=[0.0, 0.01, 5.0]
    )
    stages: list[tuple[str, int, int]] = []
    with opened(probes.Both, 8, None) as envs:
        lab = Lab(envs, settings("sac", "CartPole-v1"), 8, lambda *stage: stages.append(stage))
        assert BudgetGoal(0.1).adjusted(coarse, "controller", lab).calibration is not None
    assert {stage for stage, _, _ in stages} == {"refining controller"}
    assert stages[0][1] == 0
    assert stages[-1][1] == stages[-1][2] > 0


def test_what_was_measured_for_another_budget_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    run = Training.run

    def count(*args: Any) -> list[Policy]:
        runs.append(1)
        return run(*args)

    monkeypatch.setattr(Training, "run", count)
    brief = {**SHORT, "steps": 200, "episodes": 10, "out": tmp_path / "run", "resume": True}
    brief["warn"] = lambda text: None  # nothing is there to be resumed
    measured = Measured()
    first = smooth(unsure, probes.DeadZone, 0.3, measured=measured, **brief)
    second = smooth(unsure, probes.DeadZone, 0.1, measured=measured, **brief)
    assert len(runs) == 1
    assert second.candidates["core"] is first.candidates["core"]
    alone = smooth(unsure, probes.DeadZone, 0.1, **brief)
    assert len(runs) == 2
    assert (alone.verdict, alone.frontiers) == (second.verdict, second.frontiers)
    for name, candidate in alone.candidates.items():
        assert candidate.figures == second.candidates[name].figures


def test_needless_switching_is_trained_away_at_full_return(tmp_path: Path) -> None:
    result = smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "run", **SHORT)
    assert list(result.candidates) == ["core", "controller"]  # only actions: no hysteresis
    core, controller = (result.candidates[name].figures for name in ("core", "controller"))
    assert core["oscillation_ratio"] > 0.3
    assert core["return"] == 20
    assert result.recommended == "controller"
    assert controller["oscillation_ratio"] <= 0.1
    assert controller["return"] >= 19.9
    assert "within the budget of 0.1" in str(result)
    assert "describe this core only" in str(result)
    assert "budget" in str(result).split("\n\n")[1]  # the table of the frontier
    assert result.frontiers["controller"] == result.policy.calibration
    record = json.loads((tmp_path / "run" / "smooth.json").read_text())
    assert record["recommended"] == "controller"
    assert record["candidates"]["controller"]["return"] == controller["return"]
    assert record["candidates"]["controller"]["loss_of_gain"]["high"] <= 0.05
    assert record["random_return"] == pytest.approx(result.stakes.random_return)
    assert 10 < result.stakes.random_return < 18  # of 20; two of five places need one action
    assert record["frontiers"]["controller"]["rows"]
    assert record["seconds"] > 0
    assert record["memory_mb"] > 10


def test_function_around_which_a_policy_was_trained_must_be_given_again(tmp_path: Path) -> None:
    result = smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "run", **SHORT)
    path = tmp_path / "run" / "policy.safetensors"
    with pytest.raises(InputError, match=r"trained around jittery.*give it again"):
        Policy.load(path)
    with pytest.raises(InputError, match="acts differently"):
        Policy.load(path, load_core(light, probes.DeadZone))
    loaded = Policy.load(path, load_core(jittery, probes.DeadZone))
    seed = stream_seed(0, Stream.HELD_OUT)
    again = evaluate(loaded, probes.DeadZone, 40, seed, deterministic=True).summary()
    assert again == result.candidates["controller"].figures
    assert loaded.price == result.policy.price
    assert loaded.at(0).price == 0
    assert loaded.with_budget(0.1).price == loaded.price
    with pytest.raises(InputError, match=r"the network inside jittery is not known"):
        export(loaded, tmp_path / "p.onnx")
    env = SmoothActions(probes.DeadZone(), loaded)
    env.reset(seed=0)
    assert "held" in env.step(1)[4]


def test_where_switching_is_needed_the_bare_core_is_recommended(tmp_path: Path) -> None:
    result = smooth(light, probes.Lights, 0.1, out=tmp_path / "run", **SHORT)
    core, controller = (result.candidates[name].figures for name in ("core", "controller"))
    assert core["crash_rate"] == 0
    assert core["return"] == 20
    assert controller["oscillation_ratio"] < 0.2
    assert controller["return"] < 15
    assert result.recommended == "core"
    assert "the budget of 0.1 is not met by any policy that is as good" in str(result)
    assert "controller is out, since it loses" in str(result)
    assert result.policy.predict(np.array([1.0], np.float32), deterministic=True)[0] == 1


def test_hysteresis_needs_no_training(tmp_path: Path) -> None:
    short: dict[str, Any] = {"hysteresis_only": True, **FEW}
    result = smooth(unsure, probes.DeadZone, 0.1, out=tmp_path / "h", **short)
    assert list(result.candidates) == ["core", "hysteresis"]
    assert result.recommended == "hysteresis"
    assert result.candidates["hysteresis"].figures["return"] == 20
    assert sorted(p.name for p in (tmp_path / "h").iterdir()) == [
        ".lock",
        "core.json",
        "policy.safetensors",
        "smooth.json",
    ]
    # the core's own filter at that threshold does the same
    tau = result.policy.hysteresis
    assert tau is not None
    filtered = load_core(unsure, probes.DeadZone).with_hysteresis(tau)
    seed = stream_seed(0, Stream.HELD_OUT)
    same = evaluate(filtered, probes.DeadZone, 40, seed, deterministic=True).summary()
    assert same == result.candidates["hysteresis"].figures
    # without a budget it is half of what the core does
    free = smooth(unsure, probes.DeadZone, **short)
    assert free.budget == free.candidates["core"].figures["oscillation_ratio"] / 2


def test_stages_are_watched_to_their_ends() -> None:
    stages: dict[str, tuple[int, int]] = {}

    def watch(stage: str, done: int, of: int) -> None:
        stages[stage] = done, of

    smooth(unsure, probes.DeadZone, 0.1, hysteresis_only=True, watch=watch, **FEW)
    assert list(stages) == [
        "evaluating core",
        "evaluating random actions",
        "calibrating hysteresis",
        "evaluating hysteresis",
    ]
    assert all(done == of for done, of in stages.values())


def test_the_papers_inertia_can_be_trained_instead(tmp_path: Path) -> None:
    result = smooth(unsure, probes.DeadZone, 0.1, mu=True, out=tmp_path / "run", **SHORT)
    policy = result.candidates["controller"].policy
    assert policy.method == "smooth-mu"
    assert policy.price is None
    inertia = policy.inertia(np.zeros((1, 1), np.float32), 1)
    assert 0 < inertia[0] < 1
    core = load_core(unsure, probes.DeadZone)
    obs = np.array([[-2.0], [0.0], [2.0]], np.float32)
    np.testing.assert_allclose(policy.core_probabilities(obs), core.probabilities(obs), rtol=1e-6)


def test_sb3_model_becomes_one_onnx_file(sb3_model: SB3Model, tmp_path: Path) -> None:
    model, path = sb3_model("DQN", "CartPole-v1")
    before = {k: v.clone() for k, v in model.policy.state_dict().items()}
    result = smooth(model, "CartPole-v1", 0.2, **{**SHORT, "steps": 2_000, "out": tmp_path / "run"})
    after = model.policy.state_dict()
    assert all((before[k] == after[k]).all() for k in before)
    assert set(result.candidates) == {"core", "hysteresis", "controller"}
    policy = result.candidates["controller"].policy
    policy.save(tmp_path / "c.safetensors")
    loaded = Policy.load(tmp_path / "c.safetensors")  # the file holds the core's network
    one, two = (evaluate(p, "CartPole-v1", 10, 3).summary() for p in (policy, loaded))
    assert one == two
    core = load_core(path, "CartPole-v1")
    seed = stream_seed(0, Stream.HELD_OUT)
    bare = evaluate(core, "CartPole-v1", SHORT["episodes"], seed, deterministic=True).summary()
    assert bare == result.candidates["core"].figures
    written = export(loaded, tmp_path / "c.onnx")
    assert written.difference < 1e-5
    rng = np.random.default_rng(0)
    obs, prev = rng.normal(0, 1, (10_000, 4)).astype(np.float32), rng.integers(-1, 2, 10_000)
    (action,) = session(written.path).run(["action"], {"observation": obs, "previous_action": prev})
    ours, _ = policy.predict(obs, {PREVIOUS_ACTION: prev}, deterministic=True)
    assert (action != ours).mean() < 1e-3  # at ties
    assert isinstance(loaded.spaces, SpacesWithCore)
    assert load_core(loaded, "CartPole-v1") is loaded.spaces.core
    export(result.candidates["hysteresis"].policy, tmp_path / "h.onnx")


def test_stopped_run_resumes_and_ends_the_same(tmp_path: Path) -> None:
    def stop(step: int, figures: dict[str, Any], speed: float) -> None:
        if step >= 1_500:
            raise KeyboardInterrupt

    short = {**SHORT, "steps": 2_000, "checkpoint_seconds": 0, "eval_every": 500}
    smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "a", **short)
    with pytest.raises(KeyboardInterrupt):
        smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "b", progress=stop, **short)
    with pytest.raises(InputError, match=r"started around jittery.*now light.*its own core"):
        smooth(light, probes.DeadZone, 0.1, out=tmp_path / "b", resume=True, **short)
    smooth(jittery, probes.DeadZone, 0.1, out=tmp_path / "b", resume=True, **short)
    for name in ("policy.safetensors", "controller/policy.safetensors", "controller/metrics.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("core", "env", "changes", "message"),
    [
        (lambda obs: np.full((len(obs), 2), np.nan), probes.Lights, {}, "gave NaN or infinity"),
        (lambda obs: np.full((len(obs), 3), 1 / 3), probes.Lights, {}, r"shape \(3, 3\)"),
        (lambda obs: np.full(len(obs), 7), probes.Lights, {}, "the action spaces differ"),
        (light, probes.Lights(), {}, "several copies of it are needed"),
        (light, probes.Lights, {"budget": 1.5}, "lies from 0 to 1"),
        (light, probes.Lights, {"warmup": 2}, "warmup is 2: it must be from 0 to 1"),
        (light, probes.Lights, {"episodes": 0}, "episodes is 0: an interval needs at least 2"),
        (light, probes.Lights, {"hysteresis_only": True}, "contradict each other"),
        (light, probes.Lights, {"no_such": 2}, "'no_such' is no setting of GateConfig"),
        (light, probes.Lights, {"buffer_size": 10**9}, "GB of replay"),
    ],
)
def test_bad_input_gets_one_sentence(
    core: Any, env: Any, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        smooth(core, env, out=tmp_path / "run", **{**SHORT, **changes})
    assert not (tmp_path / "run").exists()


def nan_at_the_right(obs: np.ndarray) -> np.ndarray:
    return np.where(obs[:, :1] > 0.5, np.nan, 0.5) * np.ones((1, 2))


def test_core_that_fails_in_training_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nan_at_the_right gave NaN or infinity"):
        smooth(
            nan_at_the_right,
            probes.Lights,
            out=tmp_path / "run",
            core_options={"output": "probabilities"},
            **SHORT,
        )


def test_core_of_another_env_or_with_memory_is_refused(tmp_path: Path) -> None:
    core = load_core(unsure, probes.DeadZone)
    with pytest.raises(InputError, match="give it without its filters"):
        smooth(core.with_hysteresis(0.1), probes.DeadZone, out=tmp_path / "x")
    with pytest.raises(InputError, match="give the env that it was trained on"):
        smooth(core, "CartPole-v1", out=tmp_path / "x")


def test_limit_is_kept_by_every_candidate_but_the_core(tmp_path: Path) -> None:
    limit = Limit(0.1, 2)
    result = smooth(unsure, probes.DeadZone, limit=limit, out=tmp_path / "run", **SHORT)
    assert list(result.candidates) == ["core", "filter", "hysteresis", "controller"]
    assert result.budget is None
    policies = {name: c.policy for name, c in result.candidates.items()}
    assert policies["core"].limit is None
    assert policies["controller"].method == "smooth-limit"
    for name, policy in policies.items():
        episodes = [e.actions.tolist() for e in evaluate(policy, probes.DeadZone, 20).episodes]
        assert bool(violations_of_episodes(episodes, 0.1, 2)) == (name == "core")
    returns = {name: c.figures["return"] for name, c in result.candidates.items()}
    assert returns["controller"] > returns["filter"]  # it saves its tokens for the ends
    assert "It makes at most 2 + 0.1 n switches in n steps, always" in str(result)
    loaded = Policy.load(
        tmp_path / "run" / "policy.safetensors", load_core(unsure, probes.DeadZone)
    )
    assert loaded.limit == limit
    record = json.loads((tmp_path / "run" / "smooth.json").read_text())
    own = {"rate": 0.1, "burst": 2, "carry_over": False, "per_head": False}
    assert record["limit"] == own
    assert record["candidates"]["filter"]["limit"] == record["limit"]


def test_filters_within_a_limit_need_no_training() -> None:
    short: dict[str, Any] = {"hysteresis_only": True, "episodes": 20, "calibration_episodes": 10}
    result = smooth(jittery, probes.DeadZone, limit=Limit(0, 3, True), **short)
    assert list(result.candidates) == ["core", "filter"]
    assert result.recommended == "filter"
    assert "no policy within the limit is as good as the core" in str(result)


def test_budget_and_limit_together_are_refused() -> None:
    with pytest.raises(InputError, match="give a budget, which is a measured mean, or a limit"):
        smooth(jittery, probes.DeadZone, 0.1, limit=Limit(0.1, 2))
