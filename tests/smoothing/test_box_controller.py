"""A controller around a frozen core with continuous actions: `smooth` trains it."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia import InputError, MovementLimit, Policy, evaluate, load_core, smooth
from policy_inertia.evaluation.recording import record
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.policies.core_policy import label_of
from policy_inertia.run_settings import settings
from policy_inertia.smoothing.action_rows import KINDS
from policy_inertia.smoothing.smoothed import Smoothed
from policy_inertia.training.session import Session
from tests.support.arm import LENGTH, Arm, arm_core
from tests.support.chase import Chase, follow
from tests.support.quick_compiler import quickly_compiled

pytestmark = pytest.mark.usefixtures("quick_compiler")
SHORT: dict[str, Any] = {
    "steps": 800,
    "hidden": (16, 16),
    "batch_size": 64,
    "envs": 4,
    "eval_every": 400,
    "eval_episodes": 2,
    "final_episodes": 2,
    "calibration_episodes": 3,
    "episodes": 6,
}


@pytest.fixture(scope="module", autouse=True)
def _one_filter() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policy_inertia.smoothing.movement_goal.FILTERS", (pi.Exponential(1.0),))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("smooth") / "run"


@pytest.fixture(scope="module")
def result(folder: Path) -> Smoothed:
    with quickly_compiled():
        return smooth(follow, Chase, 0.04, train=True, out=folder, **SHORT)


@pytest.fixture(scope="module")
def policy(result: Smoothed) -> Policy:
    controller = result.candidates["controller"].policy
    assert isinstance(controller, Policy)
    return controller


def test_controller_is_compared_with_the_core_and_the_best_filter(result: Smoothed) -> None:
    assert result.trained
    assert len(result.candidates) == 3
    core, best_filter, controller = result.candidates
    assert (core, controller) == ("core", "controller")
    assert list(result.frontiers)[-1] == "controller"
    assert best_filter in result.frontiers
    text = str(result)
    assert "controller (price)" in text
    assert "Nothing was trained" not in text


def test_folder_holds_the_controller_and_its_run(
    result: Smoothed, folder: Path, policy: Policy
) -> None:
    about = json.loads((folder / "smooth.json").read_text())
    assert about["trained"]
    assert about["frontiers"]["controller"]["setting_name"] == "price"
    assert (folder / "controller" / "metrics.jsonl").exists()
    with pytest.raises(InputError, match=r"trained around follow, which a file cannot hold: give"):
        Policy.load(folder / "controller")
    loaded = Policy.load(folder / "controller", load_core(follow, Chase))
    assert loaded.calibration is not None
    obs = np.ones((3, 2), np.float32)
    same = policy.replace(params=loaded.params)
    np.testing.assert_array_equal(loaded.predict(obs)[0], same.predict(obs)[0])


def test_one_end_of_the_dial_is_the_core_bit_for_bit(policy: Policy) -> None:
    core = load_core(follow, Chase)
    end = policy.at(-(policy.largest_price or 0.0))
    for ours, theirs in zip(
        evaluate(end, Chase, 4, 7, True).episodes,
        evaluate(core, Chase, 4, 7, True).episodes,
        strict=True,
    ):
        np.testing.assert_array_equal(ours.actions, theirs.actions)
        assert ours.return_ == theirs.return_


def test_policy_is_evaluated_recorded_and_taken_apart(policy: Policy) -> None:
    assert label_of(policy) == "follow"
    assert load_core(policy, Chase) is policy.spaces.core  # type: ignore[attr-defined]
    assert 0 <= evaluate(policy, Chase, 2).summary()["mu_mean"] <= 1
    (recording,) = record(policy, Chase, frames=False, deterministic=True)
    assert len(recording.steps) == 40
    calm = policy.core().with_filter(pi.Exponential(0.3))
    assert calm.name == "follow"
    held = policy.with_limit(0.01, burst=0.05)
    moved = evaluate(held, Chase, 3, deterministic=True).summary()["action_fluctuation"]
    assert moved <= 0.05 / 39 + 0.01 + 1e-6


def test_hand_over_starts_from_the_action_that_was_taken(policy: Policy) -> None:
    still = policy.at(policy.largest_price or 0.0)
    obs, taken = np.array([1.0, 1.0], np.float32), np.array([-1.5, 0.5])
    state = still.reset_to(taken)
    np.testing.assert_allclose(state["previous_action"], [[-0.75, 0.25]])
    first, handed = still.predict(obs)[0], still.predict(obs, state)[0]
    np.testing.assert_array_equal(first, follow(obs))
    assert abs(handed - taken).sum() < abs(first - taken).sum()


def test_stable_baselines_evaluates_the_policy(policy: Policy) -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    monitor = pytest.importorskip("stable_baselines3.common.monitor")
    model: Any = policy
    mean, _ = evaluation.evaluate_policy(model, monitor.Monitor(Chase()), n_eval_episodes=3)
    assert -160 <= mean <= 0


def test_limit_is_kept_by_the_controller_too(tmp_path: Path) -> None:
    limit = MovementLimit(0.02, 0.1)
    short = {**SHORT, "steps": 300, "eval_every": 300}
    result = smooth(follow, Chase, limit=limit, train=True, out=tmp_path / "run", **short)
    controller = result.candidates["controller"].policy
    assert controller.limit == limit
    moved = evaluate(controller, Chase, 3, deterministic=True).summary()["action_fluctuation"]
    assert moved <= 0.1 / 39 + 0.02 + 1e-6


def test_stopped_run_resumes_and_ends_the_same(tmp_path: Path) -> None:
    def stop(step: int, figures: dict[str, Any], speed: float) -> None:
        if step >= 500:  # the checkpoint is at 400
            raise KeyboardInterrupt

    short = {**SHORT, "checkpoint_seconds": 0, "train": True}
    smooth(follow, Chase, 0.04, out=tmp_path / "a", **short)
    with pytest.raises(KeyboardInterrupt):
        smooth(follow, Chase, 0.04, out=tmp_path / "b", progress=stop, **short)
    smooth(follow, Chase, 0.04, out=tmp_path / "b", resume=True, **short)
    for name in ("policy.safetensors", "controller/policy.safetensors", "controller/metrics.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def session(core: Any, env: Any, **changes: Any) -> Session:
    """A run around a core, in memory."""
    spaces = BoxSpacesWithCore.of_core(core)
    options = {"envs": 4, "learning_starts": 40, "batch_size": 16, "hidden": (8,), **changes}
    config = settings("smooth", env.__name__, actions="box", **options)
    return Session(config, env, spaces)


def test_learner_never_calls_the_core() -> None:
    calls: list[int] = []

    def counting(obs: np.ndarray) -> np.ndarray:
        calls.append(len(obs))
        return follow(obs)

    run = session(load_core(counting, Chase), Chase)
    calls.clear()
    before = run.envs.episode.sum()
    for _ in range(60):
        run.advance()
    assert run.updates > 100
    assert sum(calls) == 4 * 60 + run.envs.episode.sum() - before
    records: Any = run.replay.state()
    for name in ("obs", "next_obs"):
        np.testing.assert_allclose(records[name][:, 2:4], follow(records[name][:, :2]) / 2)


def test_controller_stays_the_core_while_its_critics_warm_up() -> None:
    core = arm_core()
    obs = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    alike = []
    for warmup in (10**6, 0):
        run = session(core, Arm, warmup=warmup)
        for _ in range(LENGTH):
            run.advance()
        policy = run.policy()
        state = policy.reset_to(np.repeat([core.predict(0 * obs[0])[0]], 5, 0))
        alike.append((policy.predict(obs, state)[0] == core.predict(obs)[0]).all())
    assert alike == [True, False]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"train": True, "dimensions": ("delta", "absolute")}, "it is for numbers that are all ab"),
        ({"train": True, "no_such": 1}, "'no_such' is no setting of BoxDialConfig"),
        ({"train": True, "buffer_size": 10**11}, "GB of replay"),
        ({"mu": True}, "mu asks for the paper's inertia"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        smooth(follow, Chase, 0.04, **options)


def test_pixels_are_left_to_filters() -> None:
    core: Any = SimpleNamespace(spaces=SimpleNamespace(pixels=True), dimensions=("absolute",))
    assert "cannot see pixels: use filters and limits" in KINDS["box"].obstacle(core, None)
