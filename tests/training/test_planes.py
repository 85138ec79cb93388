"""Boolean planes from training to an ONNX file, on MinAtar."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, export, train
from policy_inertia.evaluation.recording import record
from policy_inertia.interop.c_out import export_c
from policy_inertia.methods import METHODS
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support.runs import contents

pytest.importorskip("minatar", reason="needs pip install 'policy-inertia[minatar]'")

BREAKOUT = "policy_inertia/MinAtar-Breakout-v0"
SHORT: dict[str, Any] = {
    "steps": 96,
    "envs": 4,
    "batch_size": 4,
    "buffer_size": 60,
    "learning_starts": 16,
    "eval_every": 48,
    "eval_episodes": 2,
    "final_episodes": 2,
    "checkpoint_seconds": 0.0,
}


@pytest.fixture(scope="module")
def nsac(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planes") / "run"
    train("nsac", BREAKOUT, folder, improvement="closed-form", **SHORT)
    return folder


def test_the_preset_is_that_of_minatars_paper() -> None:
    run = settings("dqn", BREAKOUT)
    dqn: Any = run.config
    assert (run.steps, run.batch_size, run.buffer_size) == (500_000, 32, 100_000)
    assert (run.n_step, run.gamma) == (1, 0.99)
    assert (dqn.hidden, dqn.learning_rate, dqn.train_interval) == ((128,), 2.5e-4, 1)
    assert dqn.for_steps(run.steps).epsilon_decay == pytest.approx(0.9 / 100_000)
    assert (dqn.epsilon_final, dqn.target_period) == (0.1, 1_000)
    assert all(settings(method, BREAKOUT).steps == 500_000 for method in METHODS)


def test_a_whole_observation_is_one_frame_of_the_replay() -> None:
    session = Session(settings("dqn", BREAKOUT, **SHORT | {"buffer_size": 200}), BREAKOUT)
    while session.step < 400:
        session.advance()
    replay: Any = session.replay
    assert replay.image == (1, 40, 10)
    # one frame for each transition, and one more for each episode: 4 envs of random episodes
    assert len(replay) > 150


def test_a_saved_policy_acts_the_same_and_is_filmed(nsac: Path) -> None:
    policy = Policy.load(nsac)
    assert policy.spaces.planes
    obs = np.random.default_rng(0).random((5, 10, 10, 4)) < 0.2
    probabilities = policy.probabilities(obs, [-1, 0, 1, 2, 0])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert np.ptp(probabilities[:, 0]) > 0
    assert evaluate(policy, BREAKOUT, 2, seed=1).summary()["length"] > 0
    (film,) = record(policy, BREAKOUT, 1, seed=1)
    assert film.steps[0].frame is not None


@pytest.mark.parametrize("part", ["whole", "core"])
def test_exported_file_is_the_policy(part: str, nsac: Path, tmp_path: Path) -> None:
    policy = Policy.load(nsac)
    exported = export(policy if part == "whole" else policy.core(), tmp_path / "policy.onnx")
    assert exported.difference < 1e-5


def test_stopped_run_ends_bit_for_bit_like_one_that_was_not(nsac: Path, tmp_path: Path) -> None:
    train("nsac", BREAKOUT, tmp_path, improvement="closed-form", **{**SHORT, "steps": 48})
    train("nsac", BREAKOUT, tmp_path, resume=True, improvement="closed-form", **SHORT)
    assert contents(tmp_path) == contents(nsac)


def test_c_refuses_convolutions_in_one_sentence(nsac: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written as C, which is for perceptrons"):
        export_c(Policy.load(nsac), tmp_path / "policy.c")
