"""policy-inertia completion: what a real bash offers, and the scripts of the other shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from policy_inertia.cli.completion import completion_script
from policy_inertia.cli.main import COMMANDS
from policy_inertia.cli.tasks import Tasks
from tests.cli.conftest import Run

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_tyro_policy_inertia
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(script: Path, words: str) -> list[str]:
    """What bash offers for the last word."""
    command = ["bash", "-c", ASK, "ask", str(script), "policy-inertia", *words.split(" ")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.split("\n") if line]


def test_bash_completes_commands_methods_and_the_flags_of_a_method(
    run: Run, tmp_path: Path
) -> None:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    code, text, _ = run("completion", "bash")
    assert code == 0
    script = tmp_path / "script"
    script.write_text(text)
    assert set(offered(script, "")) >= set(COMMANDS)
    assert offered(script, "tra") == ["train"]
    assert {"nsac", "nsac-ip"} <= set(offered(script, "train nsa"))
    assert offered(script, "train nsac CartPole-v1 --core.le") == ["--core.learning-rate"]
    assert offered(script, "train dqn CartPole-v1 --mu") == []
    assert offered(script, "evaluate --hy") == ["--hysteresis"]
    flags = offered(script, "export --")
    assert "--filter" in flags
    assert all(flag.startswith("--") for flag in flags)  # and no line of a help text


@pytest.mark.parametrize(
    ("shell", "line"),
    [("zsh", "#compdef policy-inertia"), ("fish", "complete --no-files --command ")],
)
def test_other_shells_have_their_scripts(shell: str, line: str) -> None:
    assert line in completion_script(shell, [Tasks])


def test_unknown_shell_is_explained(run: Run) -> None:
    code, _, text = run("completion", "csh")
    assert code == 2
    assert "bash" in text
