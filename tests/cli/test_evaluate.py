import json
from pathlib import Path

import pytest

from policy_inertia import Policy, evaluate
from tests.cli.conftest import Run


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


def test_budget_of_a_policy_without_a_dial_is_kept_by_hysteresis(run: Run, finished: Path) -> None:
    code, text, _ = run("evaluate", finished, "--episodes", 2, "--budget", 1, "--json")
    assert code == 0
    assert "budget 1 (threshold 0), greedy" in json.loads(text)


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
