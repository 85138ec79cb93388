"""Policies in the runtime that needs NumPy alone, beside the policies themselves."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, export_numpy, load_core
from policy_inertia.interop import numpy_runtime
from policy_inertia.networks.layers import ACTIVATIONS, Activation, Flatten, Layers, Linear, Rescale
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.cores import Core
from tests.support.arm import DIMENSIONS, FILTERS, Arm, DoubleArm, arm_core, compare_box
from tests.support.exportable import POLICIES
from tests.support.pixel_game import Catch
from tests.support.policies import fresh
from tests.support.rollouts import CARTPOLE, TWO_WAY, compare, episodes

RUNTIME = Path(numpy_runtime.__file__)


def exported(policy: Any, folder: Path) -> numpy_runtime.Policy:
    return numpy_runtime.Policy(str(export_numpy(policy, folder / "policy.npz").path))


def acts_alike(policy: Any, copy: numpy_runtime.Policy, env: Any, n: int) -> list[int]:
    return compare(policy, env, n, copy.act, copy.reset, lambda name: int(copy.state[name][0]))


@pytest.mark.parametrize("name", POLICIES)
def test_same_actions_and_memory_in_every_step_of_whole_episodes(name: str, tmp_path: Path) -> None:
    for env, n in ((CARTPOLE, 2), (TWO_WAY, 4)):
        policy = POLICIES[name](env)
        actions = acts_alike(policy, exported(policy, tmp_path), env, n)
        assert len(set(actions)) > 1, "an episode of one action proves nothing"


@pytest.mark.parametrize("name", FILTERS)
def test_continuous_actions_are_the_same_in_every_step(name: str, tmp_path: Path) -> None:
    policy = FILTERS[name](arm_core()).with_dimensions(DIMENSIONS)
    copy = exported(policy, tmp_path)
    compare_box(policy, Arm(), 2, copy.act, copy.reset, lambda name: copy.state[name][0])


def test_hand_over_starts_from_the_action_that_was_taken(tmp_path: Path) -> None:
    policy = arm_core(DoubleArm).with_filter(Exponential(0.1)).with_limit(0.02, 0.1)
    copy = exported(policy, tmp_path)
    obs, taken = np.array([0.5, -1.0, 2.0], np.float32), np.array([[-2, 1.25], [0.5, 0.75]])
    copy.act(obs)
    copy.reset(taken)
    action, _ = policy.predict(obs, policy.reset_to(taken))
    assert copy.act(obs).dtype == np.float64
    copy.reset(taken)
    np.testing.assert_allclose(copy.act(obs), action, atol=1e-6)


def test_price_is_an_argument(tmp_path: Path) -> None:
    policy = POLICIES["dial"](CARTPOLE)
    copy = exported(policy, tmp_path)
    for price in (-10.0, -0.01, 0.0, 0.3, 5.0):
        dial = policy.at(price)
        for obs, starts, action, _ in episodes(dial, CARTPOLE, 2):
            if starts:
                copy.reset()
            assert copy.act(obs, price) == action


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_and_statistics_are_run(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = [rng.normal(0, 1, shape).astype(np.float32) for shape in ((4, 9), (9, 2))]
    statistics = Rescale(np.array([0.0, 0.1, 0.0, -0.1]), np.array([0.1, 0.7, 0.04, 0.6]), 2.0)
    zeros = [np.zeros(n, np.float32) for n in (9, 2)]
    hidden, last = (Linear(*layer) for layer in zip(w, zeros, strict=True))
    layers: Layers = (statistics, Flatten(), hidden, Activation(name), last)
    core = Core.from_layers("core", fresh("dqn").spaces, "q", layers).with_hysteresis(0.05)
    acts_alike(core, exported(core, tmp_path), CARTPOLE, 3)


def test_runtime_is_short_and_imports_nothing_of_ours(tmp_path: Path) -> None:
    text = RUNTIME.read_text()
    tree = ast.parse(text)
    lines = {n.lineno for n in ast.walk(tree) if isinstance(n, ast.stmt)}
    docstring = tree.body[0]
    assert len(lines - {docstring.lineno}) <= 30
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in imports}
    assert names == {"json", "typing", "numpy"}


def test_copy_of_the_runtime_runs_without_the_library(tmp_path: Path) -> None:
    policy = POLICIES["planner"](CARTPOLE)
    export_numpy(policy, tmp_path / "policy.npz")
    (tmp_path / "copied.py").write_text(RUNTIME.read_text())
    program = (
        "import sys; sys.path.insert(0, '.'); import copied\n"
        "policy = copied.Policy('policy.npz')\n"
        "print([policy.act([0.1 * t, 0.2, -0.1, 0.3 - 0.1 * t]) for t in range(9)])\n"
        "assert not any(name.startswith(('policy_inertia', 'jax', 'onnx')) for name in sys.modules)"
    )
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected, state = [], None
    for t in range(9):
        obs = np.array([0.1 * t, 0.2, -0.1, 0.3 - 0.1 * t], np.float32)
        action, state = policy.predict(obs, state, deterministic=True)
        expected.append(int(action))
    assert ast.literal_eval(done.stdout) == expected


def test_what_cannot_be_written_is_refused_in_one_sentence(tmp_path: Path) -> None:
    function = load_core(lambda obs: (obs[:, 0] > 0).astype(int), CARTPOLE, output="action")
    for refused, message in (
        (fresh("dqn", env=Catch), "the operator (Transpose|Conv) cannot be written for NumPy"),
        (function, "is not known, so it cannot be exported"),
    ):
        with pytest.raises(InputError, match=message):
            export_numpy(refused, tmp_path / "policy.npz")
    with pytest.raises(InputError, match=r"a file of NumPy arrays ends in \.npz"):
        export_numpy(fresh("dqn"), tmp_path / "policy.npy")
    assert not list(tmp_path.iterdir())


def test_same_policy_gives_the_same_bytes(tmp_path: Path) -> None:
    policy = POLICIES["dial"](CARTPOLE)
    one, two = (export_numpy(policy, tmp_path / f"{n}.npz").path.read_bytes() for n in "ab")
    assert one == two
