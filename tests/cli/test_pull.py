"""policy-inertia pull: what is not ours is one sentence, and leaves nothing behind."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("pull calm", "is no repository of the Hub: write user/name, or ./folder"),
        ("pull ./zoo", "'./zoo' is not a policy of policy-inertia: it has no policy.safetensors"),
        ("pull ./words", "'./words' is not a policy of policy-inertia: "),
    ],
)
def test_what_is_not_ours_is_one_sentence(
    words: str, sentence: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, file in (("zoo", "dqn.zip"), ("words", "policy.safetensors")):
        Path(name).mkdir()
        Path(name, file).write_text("hello")
    code, _, text = run(*words.split())
    assert (code, text.count("\n")) == (2, 1)
    assert sentence in text
    assert not Path("runs").exists()
