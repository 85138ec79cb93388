import json
import re
import subprocess
import sys

import pytest

from policy_inertia.cli import main as cli
from policy_inertia.methods import METHODS

SHORT = ["--steps", "800", "--eval-every", "400", "--eval-episodes", "2", "--final-episodes", "2"]


def call(monkeypatch, capfd, *words) -> tuple[int, str, str]:
    """Run one command in this process: exit code, stdout, stderr."""
    monkeypatch.setattr(sys, "argv", ["policy-inertia", *map(str, words)])
    code = 0
    try:
        cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    captured = capfd.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def run(monkeypatch, capfd):
    return lambda *words: call(monkeypatch, capfd, *words)


def test_train_then_evaluate(run, tmp_path):
    out = tmp_path / "run"
    code, text, _ = run("train", "nsac", "CartPole-v1", *SHORT, "--out", out, "--mu0", 0.25)
    assert code == 0
    assert len(re.findall(r"step +\d+ +return +[\d.]+ +oscillation", text)) >= 2
    about = json.loads((out / "run.json").read_text())["config"]
    assert about["config"]["mu0"] == 0.25
    code, text, _ = run("evaluate", out, "--episodes", 3, "--hysteresis", 0.5, "--json")
    assert code == 0
    found = json.loads(text)
    assert set(found) == {
        "sampled",
        "greedy",
        "core, sampled",
        "hysteresis 0.5, sampled",
        "hysteresis 0.5, greedy",
    }
    assert found["sampled"]["episodes"] == 3
    assert found["sampled"]["mu_mean"] > 0.25


def test_a_highway_policy_is_evaluated_in_highway_env(run, trained):
    words = ("evaluate", trained, "--episodes", 2, "--json", "--env-kwargs", "config.duration=4")
    (code, ours, _), (code_there, theirs, _) = (
        run(*words),
        run(*words, "--simulator", "highway-env"),
    )
    assert code == code_there == 0
    ours, theirs = json.loads(ours), json.loads(theirs)
    assert theirs["greedy"]["return"] == pytest.approx(ours["greedy"]["return"])
    code, _, said = run("evaluate", trained, "--env", "CartPole-v1", "--simulator", "highway-env")
    assert code == 2
    assert "the env here is CartPole-v1" in said


def test_dial_is_trained_shown_drawn_and_kept_to_a_budget(run, tmp_path):
    out, few = tmp_path / "d", ("--calibration-episodes", 2, "--learning-starts", 50)
    code, text, _ = run("train", "dial-dqn", "CartPole-v1", *SHORT, *few, "--out", out)
    assert code == 0
    assert re.search(r"dial [\d.]+ / [\d.]+ / [\d.]+", text)
    code, text, _ = run("dial", out, "--episodes", 2)
    assert code == 0
    assert "hysteresis on dial-dqn (core)" in text
    assert re.search(r"dial-dqn \((takes any action|repeats or follows its core, )", text)
    assert (out / "dial.png").stat().st_size > 10_000
    words = ("--episodes", 2, "--price", 0.3, "--budget", 1, "--json")
    found = json.loads(run("evaluate", out, *words)[1])
    assert "price 0.3" in found
    assert "budget 1 (price 0), greedy" in found
    code, _, text = run("evaluate", out, "--price", "nan")
    assert code == 2
    assert "the price is nan: give a number from 0 on" in text


def test_budget_of_a_policy_without_a_dial_is_kept_by_hysteresis(run, finished):
    code, text, _ = run("evaluate", finished, "--episodes", 2, "--budget", 1, "--json")
    assert code == 0
    assert "budget 1 (threshold 0), greedy" in json.loads(text)


def test_core_settings_are_flags_too(run, tmp_path):
    flags = ["--core.temperature", 0.3, "--core.hidden", 8, 8, "--hidden", 16]
    code, _, _ = run("train", "nsac", "CartPole-v1", *SHORT, "--out", tmp_path / "r", *flags)
    assert code == 0
    config = json.loads((tmp_path / "r" / "run.json").read_text())["config"]["config"]
    assert (config["core"]["temperature"], config["core"]["hidden"]) == (0.3, [8, 8])
    assert config["hidden"] == [16]


def test_compare_ends_in_a_table_and_a_report(run, tmp_path):
    out = tmp_path / "c"
    settings = ["eval_every=400", "eval_episodes=2", "final_episodes=2", "nsac.mu0=0.5"]
    words = ("compare", "sac", "nsac", "--steps", 800, "--seeds", 2, "--out", out, "--set")
    code, text, _ = run(*words, *settings)
    assert code == 0
    assert re.search(r"nsac +[\d.]+ \[[\d.]+, [\d.]+\]", text)
    assert "95% bootstrap interval over 2 seeds" in text
    assert "policy-inertia compare sac nsac" in (out / "report.html").read_text()
    assert list((out / "figures").glob("*curves.png"))
    (about,) = out.glob("runs/*/nsac,mu0=0.5/seed-0/run.json")
    config = json.loads(about.read_text())["config"]
    assert (config["config"]["mu0"], config["eval_every"]) == (0.5, 400)
    assert run(*words, *settings)[0] == 0  # the same command finds all of it done


def test_parity_is_reported(run):
    code, text, _ = run("parity", "Merge", "--seeds", 1, "--steps", 3)
    assert code == 0
    assert "Merge: 1 seeds, 3 steps" in text
    assert "0 flags differ" in text


def test_theory_ends_in_a_table_and_pictures(run, tmp_path):
    out = tmp_path / "theory"
    words = ("--mdps", 3, "--states", 3, "--examples", "windy-line", "--out", out)
    code, text, _ = run("theory", *words)
    assert code == 0
    assert re.search(r"Theorem 3.1's rule: return +one length", text)
    assert re.search(r"Theorem 3.2, greedy: every Q +discounted", text)
    assert "Lemma 3.1" in (out / "checks.txt").read_text()
    assert {p.name for p in out.iterdir()} == {"checks.txt", "improvement.png", "tradeoff.png"}


def test_methods_and_tasks_are_listed(run):
    text = run("methods")[1]
    assert all(name in text for name in METHODS)
    assert "CartPole-v1" in run("tasks")[1]


def test_help_teaches(run):
    assert "policy-inertia train nsac CartPole-v1" in run()[1]
    for words, expected in (
        (["train", "--help"], "--core.temperature"),
        (["train", "dqn", "--help"], "--epsilon-decay"),
        (["evaluate", "--help"], "--hysteresis"),
        (["dial", "--help"], "--episodes"),
        (["compare", "--help"], "--seeds"),
        (["theory", "--help"], "--growth"),
    ):
        code, text, _ = run(*words)
        assert code == 0
        assert expected in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("trian", "did you mean 'train'"),
        ("train", "needs a method and an env"),
        ("train nsac", "needs a method and an env"),
        ("train nsca CartPole-v1", "did you mean 'nsac'"),
        ("train nsac CartPole-v2", "did you mean 'CartPole-v1'"),
        ("train nsac Pendulum-v1", "needs Discrete actions"),
        ("train nsac CartPole-v1 --mu0 1", "must lie in [0, 1)"),
        ("train nsac CartPole-v1 --steps 0", "must be at least 1"),
        ("train nsac CartPole-v1 --out /proc/x", "choose another place"),
        ("train nsac CartPole-v1 --env-kwargs wage", "write name=value"),
        ("train dqn policy_inertia/TwoWay-v0 --env-kwargs config.scenari=simple", "scenari"),
        ("evaluate nowhere", "there is no file nowhere"),
        ("compare dqn --set sac.x=1", "'sac' is no setting of DQNConfig"),
        ("compare dqn --set dqn", "write name=value"),
        ("compare dqn --set dqn.learning_rat=1", "did you mean 'learning_rate'"),
        ("compare dqn --jobs 0", "jobs is 0"),
        ("theory --mdps 0", "mdps is 0"),
        ("theory --gamma 1", "gamma is 1.0"),
        ("theory --examples windyline", "did you mean 'windy-line'"),
        ("theory --out /proc/x", "choose another place"),
        ("parity TwoWays", "did you mean 'TwoWay'"),
        ("record nowhere", "there is no file"),
        ("record . --out x.avi", "written as .gif or .mp4"),
        ("report nowhere", "holds no study"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(run, words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, text = run(*words.split())
    assert code == 2
    assert says in text
    assert text.startswith("policy-inertia: ")
    assert text.count("\n") == 1
    assert not list(tmp_path.rglob("run.json"))


def test_unknown_flag_is_refused_with_the_nearest(run):
    code, _, text = run("train", "nsac", "CartPole-v1", "--temperatur", 1)
    assert code == 2
    assert "--temperature" in text


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "policy_inertia", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert re.match(r"\d+\.\d+", done.stdout)
