import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.actions.discrete import Discrete
from policy_inertia.algorithms.interface import AlgorithmConfig
from policy_inertia.cli.flags import RunOptions
from policy_inertia.envs.spec import Spec
from policy_inertia.methods import METHODS
from policy_inertia.run_settings import settings
from policy_inertia.types import Transition
from tests.cli.conftest import SHORT_FLAGS, Run

BATCH, OBS_DIM, ACTIONS = 4, 3, 2


def test_run_is_trained_and_its_figures_are_printed(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    flags = [*SHORT_FLAGS, "--out", out, "--mu0", 0.25, "--log", "csv", "tensorboard"]
    code, text, _ = run("train", "nsac", "CartPole-v1", *flags)
    assert code == 0
    assert len(re.findall(r"step +\d+ +return +[\d.]+ +oscillation", text)) >= 2
    assert all(label in text for label in ("sampled", "greedy", "core", "oscillation ratio"))
    config = json.loads((out / "run.json").read_text())["config"]
    assert config["config"]["mu0"] == 0.25
    rows = (out / "metrics.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", "0", "400", "800"]


def test_core_settings_are_flags_too(run: Run, tmp_path: Path) -> None:
    flags = ["--core.temperature", 0.3, "--core.hidden", 8, 8, "--hidden", 16]
    code, _, _ = run("train", "nsac", "CartPole-v1", *SHORT_FLAGS, "--out", tmp_path / "r", *flags)
    assert code == 0
    config = json.loads((tmp_path / "r" / "run.json").read_text())["config"]["config"]
    assert (config["core"]["temperature"], config["core"]["hidden"]) == (0.3, [8, 8])
    assert config["hidden"] == [16]


def test_unknown_flag_is_refused_with_the_nearest(run: Run) -> None:
    code, _, text = run("train", "nsac", "CartPole-v1", "--temperatur", 1)
    assert code == 2
    assert "--temperature" in text


@pytest.mark.parametrize(
    ("method", "flag"),
    [
        ("dial-dqn", "--mu0"),
        ("dial-dqn", "--temperature"),
        ("dial-dqn", "--pic-learning-rate"),
        ("nsac", "--price"),
        ("dqn", "--core.temperature"),
    ],
)
def test_flag_of_another_method_is_refused(method: str, flag: str, run: Run) -> None:
    code, _, text = run("train", method, "CartPole-v1", flag, 0.5)
    assert code == 2
    assert "Unrecognized options" in text


def setting_flags(config: Any, prefix: str = "", only: Any = None) -> Iterator[str]:
    """The flag of every setting, with the settings of a core behind `core.`.

    With `only`, those of the settings that have exactly this value.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from setting_flags(value, f"{prefix}{field.name}.", only)
        elif only is None or value is only:
            yield prefix + field.name.replace("_", "-")


@pytest.mark.parametrize("method", METHODS)
def test_help_offers_the_settings_of_the_run_and_of_the_method_only(method: str, run: Run) -> None:
    offered = set(re.findall(r"^│ (?:-h, )?--([\w.-]+)", run("train", method, "--help").out, re.M))
    own = {field.name.replace("_", "-") for field in dataclasses.fields(RunOptions)}
    defaults = settings(method, "ENV")
    flags, on = (
        {name.removeprefix("config.") for name in setting_flags(defaults, only=only)}
        for only in (None, True)
    )
    expected = flags - on | {re.sub(r"([\w-]+)$", r"no-\1", name) for name in on}
    expected = {"help", "preset", *own, *expected} - {"method", "env", "actions"}
    assert offered == expected


@pytest.mark.parametrize("method", METHODS)
def test_algorithm_reads_every_setting_that_its_method_offers(method: str) -> None:
    config = METHODS[method].config
    reads = settings_read(config) | settings_read(with_switches_turned(config))
    assert set(setting_flags(config)) - reads == set()


def with_switches_turned(config: Any) -> Any:
    """`config` with every boolean setting the other way round, and a warm-up.

    Some settings count only then: a target of the entropy needs an automatic temperature.
    """
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = with_switches_turned(value)
        elif isinstance(value, bool):
            changes[field.name] = not value
        elif field.name == "warmup":
            changes[field.name] = 10
    return dataclasses.replace(config, **changes)


def settings_read(config: AlgorithmConfig) -> set[str]:
    """The settings that an algorithm reads while it is built, learns and acts."""
    reads: set[str] = set()
    spec = Spec(OBS_DIM, Discrete(ACTIONS))
    algorithm = recording_reads(config, reads).for_steps(100).build(spec)
    state = algorithm.init(np.random.default_rng(0))
    numbers = np.zeros(BATCH, np.float32)
    actions = np.zeros(BATCH, np.int32)
    obs = np.zeros((BATCH, OBS_DIM), np.float32)
    batch = Transition(obs, actions, actions, numbers, numbers, obs)
    due = np.ones(len(algorithm.intervals), bool)
    jax.eval_shape(algorithm.update, state, batch, due)
    rng = np.random.default_rng(0)
    drawn = np.array([algorithm.behaviour.draw(step, rng) for step in range(BATCH)])
    params = jax.tree.map(np.asarray, algorithm.acting(state))
    algorithm.behaviour.act(params, obs, actions, drawn, 1, rng, np.zeros(len(obs), int))
    return reads


def recording_reads(config: Any, reads: set[str], prefix: str = "") -> Any:
    """A copy of `config` that adds the flag of each setting to `reads` when it is read."""
    kind = type(config)
    names = {field.name for field in dataclasses.fields(config)}

    class Recording(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                reads.add(prefix + name.replace("_", "-"))
            return super().__getattribute__(name)

    copy = object.__new__(Recording)
    for name in names:
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            value = recording_reads(value, reads, f"{prefix}{name}.")
        object.__setattr__(copy, name, value)
    return copy
