"""What a file may say about an env; the canary is a package that leaves a trace when imported."""

import json
import sys
from typing import Any

import pytest

from policy_inertia.envs.making import make_env, make_vector
from policy_inertia.errors import InputError, TrustError
from policy_inertia.origin import FileText, from_file
from tests.support.canary import Canary, canary

__all__ = ["canary"]


def file_id(text: str) -> FileText:
    return FileText(text, "downloaded.safetensors", "Policy.load('downloaded', trust=True)")


def test_an_id_from_a_file_imports_nothing(canary: Canary) -> None:
    for make in (make_env, lambda env: make_vector(env, 2)):
        with pytest.raises(TrustError) as caught:
            make(file_id(canary.env))
        assert not canary.imported
    assert str(caught.value) == (
        "downloaded.safetensors names the environment 'canary_package:Canary-v0', which would "
        "import the module 'canary_package': name the environment yourself, or, if you trust the "
        "file, load it with Policy.load('downloaded', trust=True)"
    )


def test_an_id_of_the_user_imports_its_package(canary: Canary) -> None:
    make_env(canary.env).close()
    assert canary.imported


def test_an_id_from_a_file_is_looked_up_among_the_packages_that_are_imported(
    canary: Canary,
) -> None:
    make_env(canary.env).close()
    assert make_env(file_id(canary.env)).spec.id == "Canary-v0"
    assert make_env(file_id("Canary-v0")).spec.id == "Canary-v0"


@pytest.mark.parametrize("env", ["CartPole-v1", "policy_inertia/TwoWay-v0"])
def test_a_registered_id_from_a_file_is_made(env: str) -> None:
    vector, _ = make_vector(file_id(env), 2)
    vector.close()


@pytest.mark.parametrize(
    "env",
    [
        "canary_package:",
        ":Canary-v0",
        "os:canary_package:Canary-v0",
        "canary_package:os:Canary-v0",
        "policy_inertia.canary_package:Canary-v0",
        "canary_package:Canary-v0\n",
        "Canary-v0",
        "",
        "../canary_package",
    ],
)
def test_no_form_of_an_id_from_a_file_imports_the_package(env: str, canary: Canary) -> None:
    before = set(sys.modules)
    with pytest.raises(InputError):
        make_env(file_id(env))
    assert not canary.imported
    assert canary.module not in set(sys.modules) - before


@pytest.mark.parametrize("env", [":CartPole-v1", "a:b:c", "gymnasium:", "..x:Y-v0", ""])
def test_what_is_no_id_is_refused_in_one_sentence(env: str) -> None:
    with pytest.raises(InputError, match="is no id of an env"):
        make_env(env)


@pytest.mark.parametrize("env", [3, None, ["CartPole-v1"]])
def test_what_is_neither_id_nor_function_is_refused(env: Any) -> None:
    with pytest.raises(InputError, match="give a Gymnasium id"):
        make_env(env)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"xml_file": "/etc/passwd"},
        {"xml_file": "evil.xml"},
        {"xml_file": "~evil"},
        {"config": {"other_vehicles_type": "canary_package.Vehicle"}},
        {"entry_point": "canary_package:make"},
        {"wrappers": ["a", ["b", {"c": "canary_package.x"}]]},
        {"config": {"canary_package.x": 1}},
        {"a.b": 1},
        {"map": "..\\evil"},
        {"map": "$HOME"},
        {"map": "line\nbreak"},
        {"map": "x" * 101},
    ],
)
def test_arguments_from_a_file_are_numbers_and_words(kwargs: dict[str, Any]) -> None:
    received = []

    def env(**given: Any) -> Any:
        received.append(given)

    for make in (env, "CartPole-v1", "policy_inertia/TwoWay-v0"):
        with pytest.raises(TrustError, match="which may be a path or a module: give env_kwargs"):
            make_env(make, from_file(kwargs, "downloaded.safetensors"))
    assert not received


def test_words_and_numbers_from_a_file_reach_the_env_as_ordinary_values() -> None:
    kwargs = {"a": ["8x8", 1.5, None], "b": {"c-d e_f": True}, "g": ""}

    def env(**given: Any) -> Any:
        assert given == kwargs
        assert type(given["a"][0]) is str
        assert {type(name) for name in (*given, *given["b"])} == {str}
        raise InputError("received")

    with pytest.raises(InputError, match="received"):
        make_env(env, from_file(json.loads(json.dumps(kwargs)), "file"))


def test_paths_of_the_user_reach_the_env() -> None:
    def env(**given: Any) -> Any:
        assert given == {"map": "maps/x.txt", "n": 1}
        raise InputError("received")

    with pytest.raises(InputError, match="received"):
        make_env(env, {"map": "maps/x.txt", **from_file({"n": 1}, "file")})


@pytest.mark.parametrize(
    ("env", "kwargs", "reason"),
    [
        ("FrozenLake-v1", {"map_name": "9x9"}, "KeyError: '9x9'"),
        ("FrozenLake-v1", {"desc": 3}, "cannot be made with"),
        ("CartPole-v1", {"id": "Pendulum-v1"}, "multiple values for argument 'id'"),
        ("CartPole-v1", {"disable_env_checker": 3}, "multiple values for keyword"),
        ("CartPole-v1", {"vector_entry_point": "x"}, "unexpected keyword argument"),
        ("CartPole-v1", {"max_episode_steps": "x"}, "cannot be made with"),
        ("policy_inertia/TwoWay-v0", {"num_envs": 3}, "unexpected keyword argument"),
        ("policy_inertia/TwoWay-v0", {"vectorization_mode": "x"}, "unexpected keyword argument"),
        ("CartPole-v1", {1: 2}, "give a dictionary of names"),
        ("CartPole-v1", [1], "give a dictionary of names"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(env: str, kwargs: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        make_vector(env, 2, kwargs)
    assert "\n" not in str(caught.value)
