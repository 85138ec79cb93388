"""Policies on the Hugging Face Hub: a fake endpoint and local folders; nothing is uploaded."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import policy_inertia as pi
from policy_inertia.errors import InputError
from tests.support.fake_hub import FakeHub, fake_hub

pytest.importorskip("huggingface_hub")

TINY: dict[str, Any] = {
    "preset": "paper",  # small networks
    "steps": 8,
    "eval_episodes": 1,
    "final_episodes": 1,
}
FILES = {"README.md", "results.json", "policy.safetensors", "policy.onnx"}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pi.train("nsac", "CartPole-v1", tmp_path_factory.mktemp("hub") / "run", **TINY)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A fake Hub, an empty cache, and nobody's token."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    with fake_hub() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.endpoint)
        yield served


def same(a: Any, b: Any) -> bool:
    observations = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    actions = [policy.predict(observations, None, deterministic=True)[0] for policy in (a, b)]
    return bool((actions[0] == actions[1]).all())


def test_pushed_policy_has_the_hubs_layout_and_is_pulled_by_its_name(
    policy: Any, hub: FakeHub, tmp_path: Path
) -> None:
    address = pi.push(policy, "user/calm", episodes=1)
    assert address.startswith(f"{hub.endpoint}/user/calm/commit/")
    assert set(hub.files["user/calm"]) == FILES
    card = hub.files["user/calm"]["README.md"].decode()
    assert card.startswith("---\n")
    assert 'library_name: "policy-inertia"' in card
    assert hub.private == {"user/calm": False}
    pi.push(policy, "user/calm", episodes=1)  # once more: a new commit
    assert same(pi.pull("user/calm"), policy)
    pi.pull("user/calm", tmp_path / "copy")
    assert same(pi.Policy.load(tmp_path / "copy"), policy)
    asked = [request for request in hub.requests if "/resolve/" in request]
    assert all(request.endswith("/policy.safetensors") for request in asked)


def test_new_repository_can_be_private(policy: Any, hub: FakeHub) -> None:
    pi.push(policy, "user/mine", episodes=1, private=True)
    assert hub.private == {"user/mine": True}


def test_folder_takes_the_same_files_without_the_hub(
    policy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    place = pi.push(policy, tmp_path / "card", episodes=1)
    assert place == str(tmp_path / "card")
    assert {path.name for path in (tmp_path / "card").iterdir()} == FILES
    monkeypatch.chdir(tmp_path)
    assert same(pi.pull("./card"), policy)


def other_program() -> bytes:
    return bytes(safetensors.numpy.save({"w": np.zeros(3)}))


def future_format(policy: Any, tmp_path: Path) -> bytes:
    policy.save(tmp_path / "p.safetensors")
    data = (tmp_path / "p.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header["__metadata__"]["policy_inertia"])
    header["__metadata__"]["policy_inertia"] = json.dumps({**about, "format": 99})
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


@pytest.mark.parametrize("kind", ["missing", "words", "other program", "future"])
def test_repository_that_is_not_ours_is_one_sentence_and_leaves_nothing(
    kind: str, policy: Any, hub: FakeHub, tmp_path: Path
) -> None:
    file, reason = {
        "missing": (None, "it has no policy.safetensors"),
        "words": (b"hello", "is not a complete safetensors file"),
        "other program": (other_program(), "is a safetensors file of another program"),
        "future": (future_format(policy, tmp_path), "has format 99"),
    }[kind]
    hub.files["user/other"] = {"model.zip": b""}
    if file is not None:
        hub.files["user/other"]["policy.safetensors"] = file
    with pytest.raises(InputError) as error:
        pi.pull("user/other", tmp_path / "out")
    sentence = str(error.value)
    assert sentence.startswith("'user/other' is not a policy of policy-inertia: ")
    assert reason in sentence
    assert "\n" not in sentence
    assert not (tmp_path / "out").exists()


def test_pulled_policy_may_not_name_a_module(policy: Any, hub: FakeHub, tmp_path: Path) -> None:
    policy.save(tmp_path / "p.safetensors")
    data = (tmp_path / "p.safetensors").read_bytes().replace(b"CartPole-v1", b"evil:Env-v0")
    hub.files["user/evil"] = {"policy.safetensors": data}
    pulled = pi.pull("user/evil")
    with pytest.raises(InputError, match="would import the module 'evil'"):
        pi.evaluate(pulled, pulled.task, 1)


def test_file_that_is_too_large_is_not_downloaded(
    policy: Any, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pi.push(policy, "user/calm", episodes=1)
    monkeypatch.setattr("policy_inertia.interop.hub.LARGEST", 100)
    with pytest.raises(InputError, match=r"^'user/calm' is not a policy .* bytes$"):
        pi.pull("user/calm")
    assert not any(request.startswith("GET /user/calm/resolve") for request in hub.requests)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("user/nobody", "the Hub has no repository 'user/nobody' that you may use"),
        ("calm", "'calm' is no repository of the Hub: write user/name"),
        ("a/b/c", "'a/b/c' is no repository"),
        ("user/na me", "is no repository"),
        ("./nowhere", "'./nowhere' is not a policy of policy-inertia: it has no policy"),
    ],
)
def test_wrong_name_is_one_sentence(name: str, sentence: str, hub: FakeHub) -> None:
    with pytest.raises(InputError) as error:
        pi.pull(name)
    assert sentence in str(error.value)


def test_unknown_revision_is_one_sentence(policy: Any, hub: FakeHub) -> None:
    pi.push(policy, "user/calm", episodes=1)
    with pytest.raises(InputError, match=r"^'user/calm' has no such revision"):
        pi.pull("user/calm", revision="nothing")


@pytest.mark.parametrize("call", ["push", "pull"])
def test_hub_that_does_not_answer_is_one_sentence(
    call: str, policy: Any, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_hub() as gone:
        endpoint = gone.endpoint
    arguments: Any = (policy, "user/calm", None, 1) if call == "push" else ("user/calm",)
    with pytest.raises(InputError, match=r"^the Hub cannot be used for 'user/calm' \("):
        getattr(pi, call)(*arguments, endpoint=endpoint)


@pytest.mark.parametrize("call", ["push", "pull"])
def test_missing_package_is_one_sentence(
    call: str, policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    arguments: Any = (policy, "user/calm", None, 1) if call == "push" else ("user/calm",)
    with pytest.raises(InputError, match=r"pip install 'policy-inertia\[hub\]'$"):
        getattr(pi, call)(*arguments)


def test_run_folder_is_not_overwritten(policy: Any, tmp_path: Path) -> None:
    pi.push(policy, tmp_path / "card", episodes=1)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    with pytest.raises(InputError, match="is a run folder"):
        pi.pull(tmp_path / "card", tmp_path / "run")
