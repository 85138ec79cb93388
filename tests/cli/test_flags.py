import re
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.cli.flags import PolicyFile, assignments
from policy_inertia.cli.main import COMMANDS
from tests.cli.conftest import Run


def test_assignments_are_nested_and_read_as_json() -> None:
    texts = ("config.scenario=simple", "config.lanes=3", "hidden=[8,8]", "safe=True", "a=b=c")
    assert assignments("--set", texts) == {
        "config": {"scenario": "simple", "lanes": 3},
        "hidden": [8, 8],
        "safe": True,
        "a": "b=c",
    }


@pytest.mark.parametrize("text", ["name", "=1", "a.=1", ".a=1"])
def test_text_that_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=rf"--set {re.escape(text)}: write name=value"):
        assignments("--set", [text])


def test_new_file_is_put_beside_the_policy(tmp_path: Path) -> None:
    assert PolicyFile(tmp_path).beside("dial.png") == tmp_path / "dial.png"
    assert PolicyFile(tmp_path / "best.safetensors").beside("x") == tmp_path / "x"


@pytest.mark.parametrize(
    "flag",
    ["seed", "quiet", "hysteresis", "best", "env-kwargs", "resume", "burst", "dwell", "costs"],
)
def test_shared_flag_has_one_help_text(flag: str, run: Run) -> None:
    texts = {}
    for name in COMMANDS:
        page = " ".join(run(name, "--help").out.replace("│", " ").split())
        text = re.search(rf" --{flag} (?:[^a-z]+ )?([A-Z][a-z]+ .*?\.) ", page)
        if text and (name, flag) != ("train", "seed"):  # that one is a setting of the run
            texts[name] = text[1]
    assert len(texts) >= 2
    assert len(set(texts.values())) == 1, texts
