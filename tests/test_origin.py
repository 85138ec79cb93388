import copy
import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.origin import DEEPEST, FileText, file_texts, from_file, trusted
from policy_inertia.run_settings import RunConfig, merge, settings
from policy_inertia.storage import FORMAT, read_arrays, read_json, write_arrays, write_json

VALUE: dict[str, Any] = {"a": {"b": ["c", 1, None, {"d": "e"}]}, "f": 0.5, "g": True}


@dataclass
class Contents:
    """The value as a file's schema declares it."""

    a: dict[str, Any]
    f: float
    g: bool


def nested(depth: int) -> Any:
    value: Any = "text"
    for _ in range(depth):
        value = [value]
    return value


def test_every_text_of_our_json_files_remembers_its_file(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"format": FORMAT, **VALUE})
    value = read_json(tmp_path / "x.json", Contents, "a test", trusting="call")
    assert value == Contents(**VALUE)
    texts = {text: (text.file, text.trusting) for _, text in file_texts(value.a)}
    assert texts == {name: (str(tmp_path / "x.json"), "call") for name in "bcde"}
    value = read_json(tmp_path / "x.json", Contents, "a test", trust=True)
    assert not list(file_texts(value.a))


def test_every_text_of_our_safetensors_files_remembers_its_file(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x.safetensors", {"w": np.zeros(2)}, VALUE)
    _, about = read_arrays(tmp_path / "x.safetensors")
    assert about == VALUE
    assert {text for _, text in file_texts(about)} == set("abcdefg")


def test_copies_and_pickles_remember_their_file() -> None:
    text = FileText("a", "file", "call")
    for other in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert other == "a"
        assert (type(other), other.file, other.trusting) == (FileText, "file", "call")


def test_place_of_a_text_is_named() -> None:
    value = from_file({"config": {"path": ["x/y"]}}, "file")
    assert ("config.path", "x/y") in list(file_texts(value))


def test_trusted_values_are_ordinary_strings() -> None:
    value = trusted(from_file(VALUE, "file"))
    assert value == VALUE
    assert not list(file_texts(value))
    assert type(value["a"]["b"][0]) is str
    assert json.dumps(value) == json.dumps(VALUE)


def test_tuples_and_other_objects_of_the_user_stay_as_they_are() -> None:
    marker = object()
    assert trusted({"a": (1, marker)}) == {"a": (1, marker)}


def test_a_file_nested_too_deeply_is_refused_in_one_sentence() -> None:
    assert from_file(nested(DEEPEST), "file") == nested(DEEPEST)
    with pytest.raises(InputError, match="nested more than 100 levels deep"):
        from_file(nested(5_000), "file")


def test_the_settings_of_a_run_remember_the_file_that_they_were_read_from() -> None:
    config = settings("dqn", "a:B-v0", env_kwargs={"map": "x/y"}, eval_env_kwargs={"z": "p/q"})
    again = RunConfig.from_dict(from_file(json.loads(json.dumps(config.to_dict())), "file"))
    assert again == config
    assert isinstance(again.env, FileText)
    texts = [text for _, text in file_texts(again.test_kwargs)]
    assert sorted(texts) == ["map", "p/q", "x/y", "z"]


def test_merging_with_the_users_own_arguments_keeps_the_origin_of_each() -> None:
    merged = merge(from_file({"a": {"b": "x/y", "c": "p"}}, "file"), {"a": {"c": "q/r"}, "d": "s"})
    assert merged == {"a": {"b": "x/y", "c": "q/r"}, "d": "s"}
    assert {text for _, text in file_texts(merged)} == {"a", "b", "c", "x/y"}
