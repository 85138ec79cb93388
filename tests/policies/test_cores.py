"""A core, and the registry of its loaders."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, evaluate, load_core
from policy_inertia.policies.core_loaders import LOADERS, CoreOptions, Loader, register_loader
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.probing import OutputKind
from tests.support import probes
from tests.support.cores import scores_of
from tests.support.policies import OBS

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)


def q_core() -> Core:
    return load_core(lambda obs: obs @ W, "CartPole-v1", output="q")


def previous(action: int) -> dict[str, np.ndarray]:
    """The state of a batch in which every env took `action` last."""
    return {PREVIOUS_ACTION: np.full(len(OBS), action)}


def test_actions_of_the_env_are_counted_from_its_first() -> None:
    class Offset(probes.Probe):
        action_space = gym.spaces.Discrete(2, start=7)

    core = load_core(lambda obs: 8, Offset)
    np.testing.assert_array_equal(core.probabilities(np.zeros((3, 1))), [[0, 1]] * 3)
    assert core.predict(np.zeros(1))[0] == 8
    with pytest.raises(InputError, match="this env has 7 to 8, so the action spaces differ"):
        load_core(lambda obs: 1, Offset)


def test_zero_probabilities_stay_zero() -> None:
    core = load_core(lambda obs: np.array([1.0, 0.0]), "CartPole-v1")
    np.testing.assert_array_equal(core.probabilities(OBS), [[1, 0]] * 16)
    assert np.isfinite(scores_of(core, OBS)).all()


def test_temperature_sharpens_or_flattens() -> None:
    p = np.array([0.8, 0.2])
    core = load_core(lambda obs: p, "CartPole-v1", temperature=2)
    expected = p**0.5 / (p**0.5).sum()
    np.testing.assert_allclose(core.probabilities(OBS[:1])[0], expected, atol=1e-6)
    greedy = load_core(lambda obs: p, "CartPole-v1", temperature=0)
    np.testing.assert_array_equal(greedy.probabilities(OBS[:1]), [[1, 0]])


@pytest.mark.parametrize("kind", ["q", "logits", "probabilities"])
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_scores_are_the_ones_in_acting(kind: OutputKind, temperature: float) -> None:
    def function(obs: np.ndarray) -> np.ndarray:
        values = obs @ W
        return (
            values
            if kind != "probabilities"
            else np.exp(values) / np.exp(values).sum(1, keepdims=True)
        )

    core = load_core(function, "CartPole-v1", output=kind, temperature=temperature)
    np.testing.assert_array_equal(scores_of(core, OBS), core.acting(OBS).scores)


def test_hysteresis_repeats_the_action_in_the_state() -> None:
    core, q = q_core(), OBS @ W
    gain = q[:, 1] - q[:, 0]
    tau = float(np.median(abs(gain)))
    filtered = core.with_hysteresis(tau)
    action, state = filtered.predict(OBS, previous(0), deterministic=True)
    np.testing.assert_array_equal(action, gain >= tau)
    np.testing.assert_array_equal(state[PREVIOUS_ACTION], action)
    starts = np.ones(16, bool)
    new, _ = filtered.predict(OBS, previous(0), starts, deterministic=True)
    np.testing.assert_array_equal(new, q.argmax(1))


def test_sampling_is_reproducible() -> None:
    values = OBS @ W
    core = load_core(lambda obs: obs @ W, "CartPole-v1", output="logits")
    samples = []
    for _ in range(2):
        core.seed(3)
        samples.append(core.predict(np.repeat(OBS, 20, axis=0))[0])
    np.testing.assert_array_equal(samples[0], samples[1])
    assert (samples[0] != np.repeat(values.argmax(1), 20)).any()
    one, two = (evaluate(core, "CartPole-v1", 3, seed=1).episodes for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.actions, b.actions)


def test_settings_that_make_no_sense_are_refused() -> None:
    actions = lambda obs: 0  # noqa: E731
    with pytest.raises(InputError, match="gives actions: a temperature needs"):
        load_core(actions, "CartPole-v1", temperature=1)
    with pytest.raises(InputError, match="temperature is -1"):
        load_core(lambda obs: obs @ W, "CartPole-v1", output="q", temperature=-1)
    with pytest.raises(InputError, match="gives actions only"):
        load_core(actions, "CartPole-v1").with_hysteresis(0.1)
    with pytest.raises(InputError, match="0 or more"):
        q_core().with_hysteresis(-1)
    with pytest.raises(InputError, match="env of <lambda> is not known"):
        load_core(actions)
    with pytest.raises(InputError, match=r"shape \(4,\): .* a batch of \(4,\)"):
        load_core(actions, "CartPole-v1").probabilities(OBS[0])
    with pytest.raises(InputError, match="output is 'quality'"):
        load_core(actions, "CartPole-v1", output="quality")  # type: ignore[arg-type]


# --- the registry -------------------------------------------------------------------------------


class Recipe:
    """A policy of a program that nobody knows."""


def test_loader_that_is_registered_last_is_tried_first() -> None:
    def load(source: Any, env: Any, options: CoreOptions) -> Core:
        core = load_core(lambda obs: obs @ W, env, output="q")
        return Core("a recipe", core.spaces, "q", core.output, options.temperature)

    with pytest.raises(InputError, match="a core cannot be made of Recipe"):
        load_core(Recipe(), "CartPole-v1")
    register_loader(Loader(lambda source: isinstance(source, Recipe), load))
    try:
        assert load_core(Recipe(), "CartPole-v1", temperature=0.5).name == "a recipe"
    finally:
        del LOADERS[0]


def test_files_that_no_loader_accepts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        load_core(tmp_path / "missing.zip", "CartPole-v1")
    (tmp_path / "x.h5").touch()
    with pytest.raises(InputError, match=r"ends in '\.h5'"):
        load_core(tmp_path / "x.h5", "CartPole-v1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no policy: expected a run folder"):
        load_core(tmp_path / "empty", "CartPole-v1")


@pytest.mark.parametrize("name", ["load_core", "Policy", "smooth"])
def test_public_names_that_need_loaders_register_them(name: str) -> None:
    code = (
        f"import policy_inertia as pi; pi.{name}; "
        "from policy_inertia.policies.core_loaders import LOADERS; print(len(LOADERS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 5
