"""Functions, and objects with a `predict` method, as cores."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, load_core
from policy_inertia.policies.probing import OutputKind
from tests.support.cores import scores_of
from tests.support.policies import OBS

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("function", "output", "kind"),
    [
        (lambda obs: (obs @ W).argmax(1), None, "action"),
        (lambda obs: int((obs @ W).argmax()), None, "action"),
        (lambda obs: np.array([(obs @ W).argmax()]), None, "action"),
        (lambda obs: softmax(obs @ W), None, "probabilities"),
        (lambda obs: list(softmax(W.T @ obs)), None, "probabilities"),
        (lambda obs: np.log(softmax(obs @ W)), None, "logits"),
        (lambda obs: obs @ W, "q", "q"),
        (lambda obs: W.T @ obs, "logits", "logits"),
        (lambda obs: (W.T @ obs)[None], "q", "q"),
    ],
)
def test_functions_of_one_observation_or_a_batch_are_cores(
    function: Callable[[Any], Any], output: OutputKind | None, kind: OutputKind
) -> None:
    core = load_core(function, "CartPole-v1", output=output)
    assert core.kind == kind
    values = OBS @ W
    best = np.eye(2)[values.argmax(1)]
    expected = softmax(values) if kind in ("logits", "probabilities") else best
    np.testing.assert_allclose(core.probabilities(OBS), expected, atol=1e-6)
    if kind == "action":
        assert core.scores(OBS) is None
    elif kind == "q":
        np.testing.assert_allclose(scores_of(core, OBS), values, atol=1e-6)
    else:
        np.testing.assert_allclose(scores_of(core, OBS), np.log(softmax(values)), atol=1e-5)
    for obs in OBS[:3]:
        action, _ = core.predict(obs, deterministic=True)
        assert action == (obs @ W).argmax()


def test_discrete_observations_reach_a_function_as_they_are() -> None:
    table = np.eye(4)[np.arange(16) % 4]
    core = load_core(lambda s: table[s], "FrozenLake-v1")
    np.testing.assert_array_equal(core.probabilities(np.arange(16)), table)


def test_statistics_are_applied_before_the_function() -> None:
    mean, var = np.arange(4.0), np.full(4, 4.0)
    core = load_core(lambda obs: obs @ W, "CartPole-v1", output="q", normalise=(mean, var))
    np.testing.assert_allclose(scores_of(core, OBS), (OBS - mean) / 2 @ W, atol=1e-5)


class Recurrent:
    def predict(self, obs: np.ndarray, state: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        return np.zeros(len(obs), int), (np.ones(3),)


class Predicting:
    def predict(self, obs: np.ndarray, state: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        return (np.atleast_2d(obs) @ W).argmax(1), None


def test_objects_that_predict_are_cores() -> None:
    core = load_core(Predicting(), "CartPole-v1")
    np.testing.assert_array_equal(core.probabilities(OBS), np.eye(2)[(OBS @ W).argmax(1)])


@pytest.mark.parametrize(
    ("core", "output", "message"),
    [
        (lambda obs: obs @ W, None, "may be logits or Q-values: say which"),
        (lambda obs: np.full((len(obs), 2), np.nan), "q", "gave NaN or infinity"),
        (lambda obs: np.full(len(obs), np.nan), None, "gave NaN or infinity"),
        (lambda obs: obs @ W[:, :1] @ np.ones((1, 3)), "q", r"gave shape \(3, 3\) .* \(3, 2\)"),
        (lambda obs: obs, None, r"float32 of shape \(3, 4\) .* expected actions \(3,\)"),
        (lambda obs: obs[:, 0], None, r"of shape \(3,\)"),
        (lambda obs: softmax(obs @ W) * 1.1, "probabilities", "sum to 1.1"),
        (lambda obs: np.tile([1.5, -0.5], (len(obs), 1)), "probabilities", "or are negative"),
        (lambda obs: np.full(len(obs), 2), None, "this env has 0 to 1, so the action spaces"),
        (lambda obs: "left", None, "gave values of type"),
        (lambda a, b: 0, None, r"fails on observations of shape \(4,\)"),
        (Recurrent(), None, "carries a state from step to step"),
        (42, None, "a core cannot be made of int"),
    ],
)
def test_bad_cores_are_refused_in_one_sentence(
    core: Any, output: OutputKind | None, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_core(core, "CartPole-v1", output=output)
    assert "\n" not in str(caught.value)


def test_function_that_fails_after_loading_is_refused_then() -> None:
    calls: list[int] = []

    def moody(obs: np.ndarray) -> np.ndarray:
        calls.append(1)
        return np.full((len(obs), 2), 0.5 if len(calls) < 2 else np.nan)

    core = load_core(moody, "CartPole-v1")
    with pytest.raises(InputError, match="moody gave NaN or infinity"):
        core.probabilities(OBS)
