import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from policy_inertia.cli import main as entry
from policy_inertia.cli.command import Command, command_line
from policy_inertia.cli.main import COMMANDS
from policy_inertia.errors import InputError, Stopped
from tests.cli.conftest import Run
from tests.cli.greet import Greet

# Shows every help page, then prints which of the slow libraries were imported.
SHOW_HELP = """
import sys
from policy_inertia.cli.main import COMMANDS, main
for words in ([], ["--help"], *([name, "--help"] for name in COMMANDS)):
    sys.argv = ["policy-inertia", *words]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 0
slow = "jax numpy gymnasium matplotlib torch mlflow wandb optuna huggingface_hub".split()
print("IMPORTED", sorted(set(slow) & set(sys.modules)))
"""


def test_overview_shows_the_example_and_the_summary_of_every_command(run: Run) -> None:
    for words in ((), ("--help",), ("help",)):
        code, text, _ = run(*words)
        assert code == 0
        for command in COMMANDS.values():
            assert re.search(
                rf"^  {re.escape(command.example)} +{re.escape(command.summary())}$", text, re.M
            )


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_a_file_with_a_summary_an_example_and_a_help_page(name: str, run: Run) -> None:
    command = COMMANDS[name]
    assert command.__module__ == f"policy_inertia.cli.{name.replace('-', '_')}"
    assert 10 < len(command.summary()) < 60
    assert command.example.split()[:2] == ["policy-inertia", name]
    code, text, _ = run(name, "--help")
    assert code == 0
    assert f"Example:\n  {command.example}\n" in text
    assert f"usage: policy-inertia {name}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_has_a_help_text(name: str, run: Run) -> None:
    flags = re.split(r"^│ (?=-)", run(name, "--help").out, flags=re.M)[1:]
    assert flags[0].startswith("-h, --help")
    for flag in flags[1:]:
        assert re.search(r" [A-Za-z]['a-z]+:? [a-z]+[ .]", flag), flag


def test_help_imports_neither_jax_nor_numpy() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW_HELP], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "IMPORTED []"


def test_command_is_added_by_a_class_and_one_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(entry.COMMANDS, Greet.name, Greet)
    assert issubclass(Greet, Command)
    assert re.search(r"policy-inertia greet Ada --times 2 +Greet somebody\n", run().out)
    assert "How often." in run("greet", "--help").out
    assert run("greet", "Ada", "--times", 2).out == "hello Ada\nhello Ada\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("trian", "there is no command 'trian': did you mean 'train'?"),
        ("matched", "there is no command 'matched'"),
        ("evaluate nowhere", "there is no file nowhere"),
        ("record nowhere", "there is no file"),
        ("record . --out x.avi", "written as .gif or .mp4"),
        ("report nowhere", "holds no study"),
        ("parity TwoWays", "did you mean 'TwoWay'"),
        ("train", "needs a method and an env"),
        ("train nsac", "needs a method and an env"),
        ("train nsca CartPole-v1", "did you mean 'nsac'"),
        ("train nsac CartPole-v2", "did you mean 'CartPole-v1'"),
        ("train dqn Pendulum-v1", "the method learns Discrete ones"),
        ("train nsac CartPole-v1 --mu0 1", "must lie in [0, 1)"),
        ("train nsac CartPole-v1 --steps 0", "must be at least 1"),
        ("train nsac CartPole-v1 --log mlflw", "did you mean 'mlflow'"),
        ("study paper --log wandbb", "did you mean 'wandb'"),
        ("train nsac CartPole-v1 --out /proc/x", "choose another place"),
        ("train nsac CartPole-v1 --env-kwargs wage", "write name=value"),
        ("train dqn policy_inertia/TwoWay-v0 --env-kwargs config.scenari=simple", "scenari"),
        ("compare dqn --set sac.x=1", "'sac' is no setting of DQNConfig"),
        ("compare dqn --set dqn", "write name=value"),
        ("compare dqn --set dqn.learning_rat=1", "did you mean 'learning_rate'"),
        ("compare dqn --jobs 0", "jobs is 0"),
        ("theory --mdps 0", "mdps is 0"),
        ("theory --gamma 1", "gamma is 1.0"),
        ("theory --examples windyline", "did you mean 'windy-line'"),
        ("theory --out /proc/x", "choose another place"),
        ("study papr", "did you mean 'paper'"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(
    run: Run, words: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, text = run(*words.split())
    assert code == 2
    assert sentence in text
    assert text.startswith("policy-inertia: ")
    assert text.count("\n") == 1
    assert not list(tmp_path.rglob("run.json"))


@pytest.mark.parametrize(
    "words",
    ["train dqn CartPole-v1", "compare dqn", "study paper --scale 0.001", "theory --mdps 20"],
)
def test_file_in_the_place_of_a_folder_is_no_full_disk(
    run: Run, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.txt"
    file.touch()
    code, _, text = run(*words.split(), "--out", file)
    assert (code, text.count("\n")) == (2, 1)
    assert f"{file} is a file: give a folder" in text


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("evaluate . --hysteresi 1", "--hysteresis"),
        ("evaluate", "POLICY"),
        ("evaluate . --seed x", "--seed"),
        ("methods now", "now"),
    ],
)
def test_wrong_flag_is_explained(run: Run, words: str, hint: str) -> None:
    code, _, text = run(*words.split())
    assert code == 2
    assert hint in text


@pytest.mark.parametrize(
    ("stop", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "stopped"),  # nothing is promised where nothing is saved
        (Stopped(2, "stopped at step 8, which is saved"), 130, "stopped at step 8, which is saved"),
        (Stopped(15), 143, "stopped"),
    ],
)
def test_stop_ends_with_the_code_of_its_signal_and_promises_what_was_saved(
    stop: BaseException, code: int, text: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_with(stop, monkeypatch)
    ended = run("tasks")
    assert (ended.code, ended.err) == (code, f"policy-inertia: {text}\n")


def fails_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command `tasks` raise an error."""

    def failing(self: Command) -> None:
        raise error

    monkeypatch.setattr(COMMANDS["tasks"], "run", failing)


@pytest.mark.parametrize(
    "error",
    [KeyError("x[/b]"), ZeroDivisionError(), MemoryError("9 GB"), RecursionError("a\nb"),
     UnicodeDecodeError("utf8", b"\xff", 0, 1, "bad"), AssertionError(), OSError(5, "I/O")],
)  # fmt: skip
def test_an_unexpected_error_is_one_sentence_that_says_how_to_report_it(
    error: Exception, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_with(error, monkeypatch)
    code, _, text = run("tasks")
    assert code == 70
    assert text.startswith(f"policy-inertia: unexpected {type(error).__name__}: ")
    assert "(test_main.py, line " in text
    assert "; policy-inertia tasks --debug shows the traceback" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("error", [KeyError("x"), InputError("a wrong input")])
def test_debug_shows_the_traceback_and_then_the_sentence(
    error: Exception, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_with(error, monkeypatch)
    plain = run("tasks")
    shown = [run("tasks", "--debug"), run("--debug", "tasks")]
    monkeypatch.setenv("POLICY_INERTIA_DEBUG", "1")
    shown.append(run("tasks"))
    for code, _, text in shown:
        assert code == plain.code
        assert text.startswith("Traceback (most recent call last):")
        assert text.endswith(plain.err)
    monkeypatch.setenv("POLICY_INERTIA_DEBUG", "0")
    assert run("tasks") == plain


def test_debug_is_no_part_of_the_command_that_a_report_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["policy-inertia", "study", "--debug", "x y.toml"])
    assert command_line() == "policy-inertia study 'x y.toml'"


@pytest.mark.parametrize("words", ["tasks", "methods --help", "--help", "theory --growth"])
def test_a_reader_who_has_gone_ends_the_command_without_a_word(words: str) -> None:
    command = [sys.executable, "-m", "policy_inertia", *words.split()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, text = process.communicate()
    assert (process.returncode, text) == (141, b"")


def test_a_locale_without_a_letter_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "policy_inertia", "evaluate", "n\u00f6\u6b21"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"policy-inertia: there is no file n\\xf6\\u6b21, ")


def test_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "policy_inertia", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert re.match(r"\d+\.\d+", done.stdout)
