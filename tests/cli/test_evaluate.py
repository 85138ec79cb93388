import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from policy_inertia import Policy, evaluate, load_core
from tests.cli.conftest import Run
from tests.support.onnx_models import write_model
from tests.support.sb3_models import SB3Model


def test_figures_of_every_variant_are_printed_as_json(run: Run, nested_run: Path) -> None:
    code, text, _ = run("evaluate", nested_run, "--episodes", 3, "--hysteresis", 0.5, "--json")
    assert code == 0
    figures = json.loads(text)
    assert set(figures) == {
        "sampled",
        "greedy",
        "core, sampled",
        "hysteresis 0.5, sampled",
        "hysteresis 0.5, greedy",
    }
    assert figures["sampled"]["episodes"] == 3
    assert figures["sampled"]["mu_mean"] > 0.25
    policy = Policy.load(nested_run)
    assert figures["greedy"] == evaluate(policy, "CartPole-v1", 3, 0, True).summary()


def test_table_has_a_column_for_every_measure_with_a_value(run: Run, nested_run: Path) -> None:
    code, text, _ = run("evaluate", nested_run, "--episodes", 2)
    assert code == 0
    # a narrow terminal breaks labels of two words into two lines
    assert all(word in text for word in ("return", "oscillation", "reversal", "dwell", "mu"))
    assert "crash" not in text  # CartPole reports no crashes


def test_best_policy_of_a_run_can_be_chosen(run: Run, nested_run: Path) -> None:
    words = ("--episodes", 2, "--json")
    chosen = run("evaluate", nested_run, "--best", *words).out
    assert chosen == run("evaluate", nested_run / "best.safetensors", *words).out


def test_highway_policy_is_evaluated_in_highway_env(run: Run, trained: Path) -> None:
    words = ("evaluate", trained, "--episodes", 2, "--json", "--env-kwargs", "config.duration=4")
    ours, original = run(*words), run(*words, "--simulator", "highway-env")
    assert ours.code == original.code == 0
    returns = [json.loads(text)["greedy"]["return"] for text in (ours.out, original.out)]
    assert returns[1] == pytest.approx(returns[0])
    code, _, text = run("evaluate", trained, "--env", "CartPole-v1", "--simulator", "highway-env")
    assert code == 2
    assert "the env here is CartPole-v1" in text


def test_dwell_and_costs_hold_in_every_added_row(run: Run, finished: Path, tmp_path: Path) -> None:
    costs = tmp_path / "costs.csv"
    costs.write_text("0,3\n1,0\n")
    words = ("evaluate", finished, "--episodes", 3, "--json")
    flags = ("--dwell", 4, "--costs", costs, "--hysteresis", 0.2, "--limit", 0.1, "--burst", 3)
    code, text, _ = run(*words, *flags)
    assert code == 0
    rules = "held for 4 steps at least, switches cost up to 3"
    assert set(json.loads(text)) == {
        "sampled",
        "greedy",
        f"{rules}, sampled",
        f"{rules}, greedy",
        f"hysteresis 0.2, {rules}, sampled",
        f"hysteresis 0.2, {rules}, greedy",
        f"limit 0.1, burst 3, {rules}",
    }
    policy = Policy.load(finished).with_dwell(4).with_costs(((0, 3), (1, 0)))
    limited = evaluate(policy.with_limit(0.1, 3), "CartPole-v1", 3, 0, True).summary()
    assert json.loads(text)[f"limit 0.1, burst 3, {rules}"] == limited
    code, _, text = run(*words, "--costs", costs)
    assert code == 2
    assert "multiplies thresholds and tokens: add --hysteresis" in text
    code, _, text = run(*words, "--dwell", 0)
    assert code == 2
    assert "the dwell is 0" in text


def test_budget_of_a_policy_without_a_dial_is_kept_by_hysteresis(run: Run, finished: Path) -> None:
    code, text, _ = run("evaluate", finished, "--episodes", 2, "--budget", 1, "--json")
    assert code == 0
    assert "budget 1 (threshold 0), greedy" in json.loads(text)


def test_zip_of_stable_baselines_is_evaluated_as_its_core(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    words = ("--episodes", 3, "--hysteresis", 0.1, "--limit", 0.1, "--budget", 0.5, "--json")
    code, text, _ = run("evaluate", path, "--env", "CartPole-v1", *words)
    assert code == 0
    figures = json.loads(text)
    core = load_core(path, "CartPole-v1")
    for label, policy in (
        ("greedy", core),
        ("hysteresis 0.1, greedy", core.with_hysteresis(0.1)),
        ("limit 0.1, burst 1", core.with_limit(0.1)),
    ):
        expected = evaluate(policy, "CartPole-v1", 3, 0, True).summary()
        assert figures[label] == expected
    assert any(label.startswith("budget 0.5 (threshold ") for label in figures)


def test_title_names_the_file_and_the_env_of_an_rl_zoo_folder(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    folder = tmp_path / "CartPole-v1_1"
    folder.mkdir()
    shutil.copy(path, folder / "CartPole-v1.zip")
    code, text, _ = run("evaluate", folder, "--episodes", 1)
    assert code == 0
    assert re.search(r"CartPole-v1\.zip on CartPole-v1, 1 episode$", text, re.M)


def test_onnx_file_is_evaluated_by_its_output(run: Run, tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.onnx", [helper.make_node("MatMul", ["obs", "w"], ["q"])])
    words = ("--env", "CartPole-v1", "--episodes", 3, "--json")
    greedy, soft = (
        json.loads(run("evaluate", path, *words, *flags).out)
        for flags in ((), ("--output", "q", "--output-name", "q", "--temperature", 1))
    )
    assert greedy["sampled"] == greedy["greedy"] == soft["greedy"] != soft["sampled"]
    core = load_core(path, "CartPole-v1")
    assert greedy["greedy"] == evaluate(core, "CartPole-v1", 3, 0, True).summary()


def test_policy_of_others_needs_an_env(run: Run, sb3_model: SB3Model) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    for command in ("evaluate", "record", "export", "dial"):
        code, _, text = run(command, path)
        assert code == 2
        assert "does not name its environment: add --env, such as --env CartPole-v1" in text
        assert text.count("\n") == 1


def test_statistics_are_given_by_a_flag_and_missed_with_a_warning(
    run: Run, sb3_model: SB3Model, tmp_path: Path
) -> None:
    _, path = sb3_model("PPO", "CartPole-v1")
    shutil.copy(path, tmp_path / "jittery.zip")
    statistics = tmp_path / "vec_normalize.pkl"
    rms = Plain(mean=np.ones(4), var=np.full(4, 4.0), count=3)
    state = Plain(norm_obs=True, obs_rms=rms, epsilon=1e-8, clip_obs=10.0)
    statistics.write_bytes(pickle.dumps(state))
    words = ("evaluate", tmp_path / "jittery.zip", "--env", "CartPole-v1", "--episodes", 2)
    bare = run(*words, "--json")
    assert bare.code == 0
    assert f"add --normalise {statistics}" in bare.err
    assert bare.err.count("\n") == 1
    scaled = run(*words, "--json", "--normalise", statistics)
    assert scaled.err == ""
    core = load_core(path, "CartPole-v1", normalise=(np.ones(4), np.full(4, 4.0)))
    expected = evaluate(core, "CartPole-v1", 2, 0, True).summary()
    assert json.loads(scaled.out)["greedy"] == expected != json.loads(bare.out)["greedy"]
    ignored = run(*words, "--json", "--normalise", "none")
    assert ignored == bare._replace(err="")


class Plain:
    """An object with any state, as pickled."""

    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


def test_limits_add_rows_that_keep_them(run: Run, nested_run: Path) -> None:
    words = ("--episodes", 2, "--limit", 0.1, 0, "--burst", 2, "--json")
    code, text, _ = run("evaluate", nested_run, *words)
    assert code == 0
    figures = json.loads(text)
    policy = Policy.load(nested_run)
    for rate in (0.1, 0.0):
        limited = evaluate(policy.with_limit(rate, 2), "CartPole-v1", 2, 0, True)
        assert figures[f"limit {rate:g}, burst 2"] == limited.summary()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--limit", 1.5), "the rate of a limit is 1.5: give switches per step, from 0 to 1"),
        (("--limit", 0.1, "--burst", 0.5), "the burst of a limit is 0.5: give at least 1 token"),
        (("--burst", 2), "--burst 2 belongs to a limit: add --limit, such as --limit 0.1"),
    ],
)
def test_bad_limit_is_one_sentence(
    words: tuple[object, ...], message: str, run: Run, nested_run: Path
) -> None:
    for command in ("evaluate", "record", "export"):
        code, _, text = run(command, nested_run, *words)
        assert code == 2
        assert message in " ".join(text.split())
