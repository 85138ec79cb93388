"""Training with continuous actions, from the command to the files of other programs."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.errors import InputError
from policy_inertia.evaluation.recording import record
from policy_inertia.evaluation.variants import variants
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.training.session import Session
from tests.support.arm import compare_box
from tests.support.c_policies import CBoxPolicy
from tests.support.point_mass import HoldStill, TwoJoints

SMALL: dict[str, Any] = {
    "steps": 400,
    "envs": 4,
    "learning_starts": 100,
    "batch_size": 16,
    "hidden": (8, 8),
    "eval_every": 200,
    "eval_episodes": 2,
    "final_episodes": 2,
}
METHODS = ("sac", "td3")
NESTED: dict[str, Any] = {"core": {"hidden": (8, 8)}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """A short run of each method on the point mass."""
    gym.register("HoldStill-v0", "tests.support.point_mass:HoldStill")
    folder = tmp_path_factory.mktemp("runs")
    for method in METHODS:
        pi.train(method, "HoldStill-v0", folder / method, **SMALL)
    yield {method: folder / method for method in METHODS}
    del gym.registry["HoldStill-v0"]


@pytest.fixture(scope="module", params=METHODS)
def policy(request: pytest.FixtureRequest, runs: dict[str, Path]) -> pi.Policy:
    return pi.Policy.load(runs[request.param])


def new_session(method: str) -> Session:
    changes = {**SMALL, **(NESTED if method not in ALONE else {}), "actions": "box", "seed": 3}
    return Session(settings(method, "two joints", **changes), TwoJoints)


ALONE = (*METHODS, "sac-asap", "sac-repeat")
CONTROLLED = ("nsac-each", "ntd3", "dial-sac", "dial-td3", "dial-sac-full")


@pytest.mark.parametrize("method", [*ALONE, *CONTROLLED])
def test_run_with_box_actions_is_restored_bit_for_bit(method: str, tmp_path: Path) -> None:
    session = new_session(method)
    while session.step < 200:
        session.advance()
    arrays, state = session.state()
    records: Any = session.replay.state()
    arrays, records = jax.tree.map(np.array, (arrays, records))
    resumed = new_session(method)
    assert resumed.restore(arrays, records, state, tmp_path)
    for _ in range(25):
        session.advance()
        resumed.advance()
    rows: Any = [s.replay.state() for s in (session, resumed)]
    assert len({b"".join(x.tobytes() for x in jax.tree.leaves(each)) for each in rows}) == 1
    after, again = (s.state()[0] for s in (session, resumed))
    assert after.keys() == again.keys()
    for name, array in after.items():
        np.testing.assert_array_equal(array, again[name], name)


def test_replay_holds_rows_of_floats_and_nan_at_the_start() -> None:
    session = new_session("sac")
    while session.step < 240:
        session.advance()
    records: Any = session.replay.state()
    assert records["action"].shape == (240, 2)
    assert (abs(records["action"]) <= 1).all()
    first = np.isnan(records["prev_action"]).all(1)
    assert first.sum() == 8  # two episodes of 40 steps began in each of 4 envs
    follows = records["prev_action"][4:][~first[4:]] == records["action"][:-4][~first[4:]]
    assert follows.all()


def test_first_actions_are_uniform_until_learning_starts() -> None:
    session = new_session("sac")
    while session.step < 100:
        session.advance()
    assert session.epsilon == 1
    records: Any = session.replay.state()
    actions = records["action"]
    assert abs(np.abs(actions).mean() - 0.5) < 0.08
    while session.step < 120:
        session.advance()
    assert session.epsilon == 0


def test_penalty_is_paid_for_the_share_of_the_range_that_is_moved() -> None:
    config = settings("sac", "joints", actions="box", penalty=2.0, **SMALL)
    session = Session(config, TwoJoints)
    while session.step < 40:
        session.advance()
    rows: Any = session.replay.state()
    moved = abs(rows["action"] - rows["prev_action"]).mean(1) / 2
    paid = -((rows["action"][:, 0] - rows["obs"][:, 0]) ** 2) - 2.0 * np.nan_to_num(moved)
    np.testing.assert_allclose(rows["reward"], paid, atol=1e-5)


def test_held_action_is_one_transition_with_the_sum_of_its_rewards() -> None:
    config = settings("sac-repeat", "joints", actions="box", repeats=(3,), **SMALL)
    session = Session(config, TwoJoints)
    while session.step < 160:
        session.advance()
    rows: Any = session.replay.state()
    assert len(rows) == 4 * 14  # episodes of 40 steps: 13 decisions of 3 steps, and one of a step
    start = np.isnan(rows["prev_action"]).all(1)
    assert start.sum() == 4
    np.testing.assert_allclose(rows["discount"][start], config.gamma**3, rtol=1e-6)
    assert (abs(rows["reward"][start]) > 0).all()


def test_policy_that_holds_its_actions_moves_at_every_third_step(tmp_path: Path) -> None:
    changes = {**SMALL, "steps": 120, "eval_every": 120, "repeats": (3,)}
    pi.train("sac-repeat", TwoJoints, tmp_path / "r", **changes)
    policy, state, taken = pi.Policy.load(tmp_path / "r"), None, []
    rng = np.random.default_rng(0)
    for _ in range(7):
        action, state = policy.predict(rng.normal(size=2).astype(np.float32), state)
        taken.append(action)
    moved = [not np.array_equal(a, b) for a, b in itertools.pairwise(taken)]
    assert moved == [False, False, True, False, False, True]
    with pytest.raises(InputError, match="that decide at every step"):
        policy.with_filter(pi.Exponential(0.3))
    with pytest.raises(InputError, match="give one number of steps"):
        settings("sac-repeat", "Pendulum-v1", repeats=(1, 4))
    with pytest.raises(InputError, match="give one number of steps"):
        policy.replace(repeats=(1, 4))


def test_actor_of_asap_is_exported_as_one_of_sac(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    session = new_session("sac-asap")
    while session.step < 120:
        session.advance()
    exported = pi.export(session.policy(), tmp_path / "p.onnx")
    assert exported.difference < 1e-5
    with pytest.raises(InputError, match="three observations in a row"):
        Session(settings("sac-asap", "joints", actions="box", n_step=3, **SMALL), TwoJoints)


def test_policy_is_saved_and_acts_the_same(policy: pi.Policy, tmp_path: Path) -> None:
    policy.save(tmp_path / "p.safetensors")
    copy = pi.Policy.load(tmp_path / "p.safetensors")
    obs = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    ours, theirs = (p.predict(obs, deterministic=True)[0] for p in (policy, copy))
    np.testing.assert_array_equal(ours, theirs)
    assert ours.shape == (5, 1)
    assert (abs(ours) <= 2).all()
    assert abs(ours).max() > 0


def test_sac_samples_and_td3_does_not(runs: dict[str, Path]) -> None:
    obs = np.zeros((1, 3), np.float32)
    for method, spread in (("sac", True), ("td3", False)):
        policy = pi.Policy.load(runs[method])
        policy.seed(0)
        actions = [policy.predict(obs)[0].item() for _ in range(5)]
        assert (np.std(actions) > 0) == spread
        assert policy.deterministic != spread


def test_evaluation_and_recording_give_movement(policy: pi.Policy) -> None:
    summary = pi.evaluate(policy, "HoldStill-v0", 3, deterministic=True).summary()
    assert summary["action_fluctuation"] > 0
    assert summary["mu_mean"] is None
    (recording,) = record(policy, "HoldStill-v0", frames=False, deterministic=True)
    assert len(recording.steps) == 40
    assert recording.steps[0].mixed is None


def test_filter_and_limit_are_put_around_a_trained_policy(policy: pi.Policy) -> None:
    obs = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    core = pi.load_core(policy, "HoldStill-v0")
    assert isinstance(core, ContinuousCore)
    own = policy.predict(obs, deterministic=True)[0]
    np.testing.assert_allclose(core.predict(obs)[0], own, atol=1e-5)
    calm = policy.with_filter(pi.Exponential(0.2))
    loose, smooth = (
        pi.evaluate(p, "HoldStill-v0", 5, deterministic=True).summary()["action_fluctuation"]
        for p in (policy, calm)
    )
    assert smooth < loose
    held = policy.with_limit(0.01, burst=0.05)
    moved = pi.evaluate(held, "HoldStill-v0", 5, deterministic=True).summary()
    assert moved["action_fluctuation"] <= 0.05 / 39 + 0.01 + 1e-6


def test_limit_is_saved_with_a_trained_policy(policy: pi.Policy, tmp_path: Path) -> None:
    policy.with_limit(0.1, burst=0.2).save(tmp_path / "p.safetensors")
    assert pi.Policy.load(tmp_path / "p.safetensors").limit == pi.MovementLimit(0.1, 0.2)


def test_stable_baselines_evaluates_the_policy(policy: pi.Policy) -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    monitor = pytest.importorskip("stable_baselines3.common.monitor")
    model: Any = policy
    mean, _ = evaluation.evaluate_policy(model, monitor.Monitor(HoldStill()), n_eval_episodes=3)
    assert -40 * 9 <= mean <= 0


def test_exported_files_act_as_the_policy(policy: pi.Policy, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    limited = policy.with_limit(0.05, burst=0.3)
    exported = pi.export(limited, tmp_path / "p.onnx")
    assert exported.difference < 1e-5
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx")
    assert {i.name for i in session.get_inputs()} >= {"observation", "previous_action"}
    pi.export_numpy(limited, tmp_path / "p.npz")


def test_c_file_acts_as_the_policy(policy: pi.Policy, tmp_path: Path) -> None:
    core = pi.load_core(policy, "HoldStill-v0")
    pi.export_c(policy, tmp_path / "p.c")
    c = CBoxPolicy(tmp_path / "p.c", (1,))
    compare_box(core, HoldStill(), 2, c.act, c.reset, c.memory)


def test_model_card_loads_the_policy(policy: pi.Policy, tmp_path: Path) -> None:
    files = pi.model_card(policy, tmp_path / "card", episodes=2)
    text = files[0].read_text()
    assert "pi.Policy.load" in text
    assert f"trained with `{policy.method}`" in text
    assert pi.Policy.load(tmp_path / "card").method == policy.method


def test_discrete_questions_are_refused_in_one_sentence(policy: pi.Policy) -> None:
    obs = np.zeros(3, np.float32)
    with pytest.raises(InputError, match="needs Discrete actions"):
        policy.probabilities(obs)
    with pytest.raises(InputError, match="hysteresis compares the scores"):
        policy.with_hysteresis(0.1)
    with pytest.raises(InputError, match="has no dial"):
        policy.at(0.1)
    with pytest.raises(InputError, match="give MovementLimit"):
        policy.within(pi.Limit(0.1))
    assert policy.inertia(obs) == 0


def test_action_space_decides_what_sac_is() -> None:
    assert settings("sac", "Pendulum-v1").actions == "box"
    assert settings("sac", "CartPole-v1").actions == "discrete"
    assert settings("td3", "Pendulum-v1").actions == "box"
    again = RunConfig.from_dict(settings("sac", "Pendulum-v1", hidden=(7,)).to_dict())
    assert again == settings("sac", "Pendulum-v1", hidden=(7,), preset="paper")
    assert "actions" not in settings("sac", "CartPole-v1").to_dict()


@pytest.mark.parametrize(
    ("method", "env", "said"),
    [
        ("dqn", "Pendulum-v1", "learns Discrete ones: train sac or td3"),
        ("td3", "CartPole-v1", "learns Box ones: train dqn or sac"),
    ],
)
def test_other_kind_of_actions_is_refused(method: str, env: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        pi.train(method, env, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_run_whose_actions_are_not_the_methods_is_refused() -> None:
    values = settings("sac", "Pendulum-v1").to_dict() | {"actions": "discrete"}
    with pytest.raises(InputError):
        RunConfig.from_dict(values)


def test_policy_with_inertia_is_saved_evaluated_and_taken_apart(tmp_path: Path) -> None:
    changes = {**SMALL, **NESTED, "steps": 160, "eval_every": 160}
    policy = pi.train("ntd3", HoldStill, tmp_path / "r", **changes)
    copy = pi.Policy.load(tmp_path / "r")
    obs = np.zeros((2, 3), np.float32)
    start, state = copy.predict(obs, deterministic=True)
    np.testing.assert_array_equal(start, copy.core().predict(obs, deterministic=True)[0])
    np.testing.assert_array_equal(
        state["previous_action"], policy.predict(obs)[1]["previous_action"]
    )
    assert copy.inertia(obs).tolist() == [0, 0]
    assert (copy.inertia(obs, [0.5]) > 0).all()
    figures = pi.evaluate(copy, HoldStill, 3).summary()
    assert 0 < figures["mu_mean"] < 1
    assert figures["switch_mixed_minus_core"] < 0
    result = (tmp_path / "r" / "result.json").read_text()
    assert '"core"' in result
    with pytest.raises(InputError, match="has a controller"):
        copy.with_filter(pi.Exponential(0.3))
    card = pi.model_card(copy, tmp_path / "card", HoldStill, episodes=1)
    assert card[-1].name == "policy.onnx"


@pytest.fixture(scope="module")
def dial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of a dial on the point mass."""
    folder = tmp_path_factory.mktemp("dial") / "r"
    changes = {**SMALL, **NESTED, "calibration_episodes": 2}
    pi.train("dial-td3", HoldStill, folder, **changes)
    return folder


def test_dial_is_calibrated_by_the_movement_of_its_actions(dial: Path) -> None:
    policy = pi.Policy.load(dial)
    table = policy.calibration
    assert table is not None
    assert policy.largest_price is not None
    assert policy.largest_price > 0
    assert {row.measure for row in table.rows} == {"action_fluctuation"}
    settings_ = [row.setting for row in table.rows]
    assert min(settings_) == pytest.approx(-policy.largest_price)  # the core itself
    assert max(settings_) == pytest.approx(policy.largest_price)  # nothing beyond was learned
    budget = max(row.smallest_budget for row in table.rows)
    within = policy.with_budget(budget)
    assert within.setting in settings_
    with pytest.raises(InputError, match="an action fluctuation of 0 is not reachable"):
        policy.with_budget(0.0)


def test_dial_of_box_actions_is_set_after_training(dial: Path) -> None:
    policy = pi.Policy.load(dial)
    obs = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    _, state = policy.predict(obs, deterministic=True)
    largest = policy.largest_price or 0.0
    core = policy.at(-largest)
    np.testing.assert_array_equal(
        core.predict(obs, state)[0], policy.core().predict(obs, deterministic=True)[0]
    )
    assert policy.at(0.5 * largest).price == pytest.approx(0.5 * largest)
    assert policy.inertia(obs, [0.2]).shape == (4, 1)
    assert policy.mode == "goes a part of the core's way"
    (one, *others) = variants(policy, prices=[0.1, 0.2])
    assert one.label == "greedy"
    assert [row.label for row in others] == ["core alone", "price 0.1", "price 0.2"]
    log = (dial / "metrics.jsonl").read_text()
    assert "dial/action_fluctuation_at_0.1" in log
