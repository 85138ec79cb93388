import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from policy_inertia import Limit, Policy, evaluate, load_core
from policy_inertia.actions.switching import Switching
from tests.cli.conftest import Run
from tests.support.sb3_models import SB3Model
from tests.support.sb3_zips import data_of, with_data


def test_filter_is_recommended_without_training(run: Run, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "smooth"
    words = ("--hysteresis-only", "--episodes", 4, "--budget", 0.01, "--out", out)
    few = ("--set", "calibration_episodes=4")
    code, text, _ = run("smooth", finished, "CartPole-v1", *words, *few)
    assert code == 0
    assert "Recommended: " in text
    assert (out / "policy.safetensors").exists()


def test_statistics_are_given_by_a_flag_and_missed_with_a_warning(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    zipped = tmp_path / "jittery.zip"
    with_data(path, zipped, data_of(path) | {"_last_original_obs": 0})  # as in a VecNormalize
    np.savez(tmp_path / "s.npz", mean=np.ones(4), var=np.full(4, 4.0))
    words = ("smooth", zipped, "CartPole-v1", "--hysteresis-only", "--episodes", 2)
    few = ("--budget", 1, "--set", "calibration_episodes=2")
    code, _, text = run(*words, *few, "--out", tmp_path / "bare")
    assert code == 0
    assert "was trained inside a VecNormalize" in text
    assert "add --normalise FILE" in text
    code, _, text = run(
        *words, *few, "--out", tmp_path / "scaled", "--normalise", tmp_path / "s.npz"
    )
    assert (code, text) == (0, "")
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    scaled = Policy.load(tmp_path / "scaled").core_probabilities(obs)
    core = load_core(path, "CartPole-v1", normalise=(np.ones(4), np.full(4, 4.0)))
    np.testing.assert_allclose(scaled, core.probabilities(obs), atol=1e-5)


def test_zip_is_made_smooth_and_other_commands_take_the_result(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    out = tmp_path / "run"
    words = ("smooth", path, "CartPole-v1", "--out", out, "--episodes", 10)
    short = (
        "--train",
        "--steps",
        800,
        "--budget",
        0.3,
        "--set",
        "calibration_episodes=4",
        "eval_every=400",
        "--log",
        "csv",
    )
    code, text, _ = run(*words, *short)
    assert code == 0
    assert (out / "controller" / "metrics.csv").exists()
    assert "over 10 held-out episodes of CartPole-v1" in text
    assert "controller" in text
    assert [line for line in text.splitlines() if line.startswith("calibrating")] == [
        "calibrating hysteresis",
        "calibrating the last controller",
    ]
    assert (out / "frontiers.png").exists()
    recommended = Policy.load(out)
    row = json.loads(run("evaluate", out, "--episodes", 2, "--json").out)["greedy"]
    same = evaluate(recommended, "CartPole-v1", 2, 0, True).summary()
    assert row["return"] == same["return"]
    assert run("record", out, "--steps", 3, "--out", tmp_path / "r.gif").code == 0
    assert run("dial", out, "--episodes", 2).code == 0
    assert run("export", out).code == 0
    assert (out / "policy.onnx").exists()
    code, _, error = run(*words)
    assert code == 2
    assert "--resume" in error


def test_limit_is_kept_by_the_recommended_policy(run: Run, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "smooth"
    words = ("--hysteresis-only", "--episodes", 4, "--limit", 0.1, "--burst", 2, "--out", out)
    few = ("--set", "calibration_episodes=4")
    code, text, _ = run("smooth", finished, "CartPole-v1", *words, *few)
    assert code == 0
    assert "at most 2 + 0.1 n switches in n steps, always" in text
    assert "all within the limit" in text
    assert (out / "frontiers.png").exists()
    assert Policy.load(out / "policy.safetensors").limit == Limit(0.1, 2)
    code, _, text = run("smooth", finished, "CartPole-v1", "--limit", 0.1, "--budget", 0.2)
    assert code == 2
    assert "give a budget, which is a measured mean, or a limit" in text


def test_recommended_policy_keeps_the_dwell_and_the_costs(
    run: Run, finished: Path, tmp_path: Path
) -> None:
    out, costs = tmp_path / "smooth", tmp_path / "costs.json"
    costs.write_text("[[0, 2], [1, 0]]")
    words = ("smooth", finished, "CartPole-v1", "--hysteresis-only", "--episodes", 4, "--out", out)
    few = ("--set", "calibration_episodes=4")
    code, text, _ = run(*words, "--dwell", 2, "--costs", costs, "--budget", 0.6, *few)
    assert code == 0
    assert "It holds every action for at least 2 steps" in text
    policy = Policy.load(out / "policy.safetensors")
    assert policy.switching == Switching(((0.0, 2.0), (1.0, 0.0)), 2)
    for episode in evaluate(policy, "CartPole-v1", 5, 0, True).episodes:
        ends = np.flatnonzero(np.diff(episode.actions)) + 1
        assert (np.diff(ends, prepend=0) >= 2).all()
    assert json.loads((out / "smooth.json").read_text())["switching"]["dwell"] == 2
    code, _, text = run(*words, "--costs", tmp_path / "missing.csv")
    assert code == 2
    assert "there is no file" in text


@pytest.mark.parametrize("flag", ["--budget", "--limit", "--temperature", "--loss"])
def test_word_in_place_of_a_number_is_refused_in_one_sentence(run: Run, flag: str) -> None:
    code, text, error = run("smooth", "jittery.zip", "CartPole-v1", flag, "ten")
    assert code == 2
    words = " ".join((text + error).replace("│", " ").split())
    assert f"Error parsing {flag}: 'ten' was given: give a number, such as 0.1" in words
    assert "no type matching" not in words


def test_word_among_numbers_is_refused_in_one_sentence(run: Run) -> None:
    code, text, error = run("evaluate", "runs/x", "--budget", 0.1, "ten")
    assert code == 2
    assert "Error parsing --budget: 'ten' was given: give a number" in text + error


def test_file_in_place_of_a_folder_is_named(run: Run, finished: Path, tmp_path: Path) -> None:
    (tmp_path / "file.txt").touch()
    for place in (tmp_path / "file.txt", tmp_path / "file.txt" / "below"):
        words = ("--hysteresis-only", "--episodes", 2, "--out", place)
        code, _, error = run("smooth", finished, "CartPole-v1", *words)
        assert code == 2
        assert "file.txt is a file: give a folder" in error
        assert "free the disk" not in error


def test_no_episodes_are_refused_before_anything_is_trained(run: Run, finished: Path) -> None:
    code, _, error = run("smooth", finished, "CartPole-v1", "--episodes", 0)
    assert code == 2
    assert "episodes is 0: an interval needs at least 2" in error


def test_two_policies_do_not_share_a_default_folder(
    run: Run, sb3_model: SB3Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("CartPole-v1", "--hysteresis-only", "--episodes", 2, "--set", "calibration_episodes=1")
    digests = []
    for folder, algorithm in (("one", "DQN"), ("two", "PPO")):
        _, path = sb3_model(algorithm, "CartPole-v1")
        Path(folder).mkdir()
        shutil.copy(path, Path(folder) / "best_model.zip")
        assert run("smooth", Path(folder) / "best_model.zip", *words).code == 0
        digests.append(load_core(path, "CartPole-v1").digest[:6])
    assert sorted(path.name for path in Path("runs").iterdir()) == sorted(
        f"CartPole-v1-smooth-best_model-{digest}-0" for digest in digests
    )
    code, _, error = run("smooth", "one/best_model.zip", *words)
    assert code == 2
    assert "holds a smoothed policy already" in error
