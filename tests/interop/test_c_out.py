"""Exported C files, compiled and run beside the policies themselves."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from onnx import helper

from policy_inertia import InputError, Policy, export_c, load_core
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.interop import c_out
from policy_inertia.interop.c_filters import FILTERS
from policy_inertia.interop.c_rules import RULES
from policy_inertia.interop.description import describe
from policy_inertia.interop.onnx_rules import RULES as ONNX_RULES
from policy_inertia.policies.token_bucket import TOKENS
from tests.support.c_policies import CPolicy, compile_c, needs_compiler
from tests.support.exportable import POLICIES
from tests.support.onnx_models import write_model
from tests.support.pixel_game import Catch
from tests.support.policies import fresh
from tests.support.rollouts import CARTPOLE, TWO_WAY, compare, episodes
from tests.support.switch_counter import violations

OBS = np.random.default_rng(3).normal(0, 20, (300, 4)).astype(np.float32)
HOSTILE = (
    '*/ int evil(void) { return system("x"); } /* // \\\n??/\n#define policy_act evil\x00é\u202e'
)


def exported(policy: Any, folder: Path) -> CPolicy:
    return CPolicy(export_c(policy, folder / "policy.c").path)


def acts_alike(policy: Any, copy: CPolicy, env: Any, n: int) -> list[int]:
    return compare(policy, env, n, copy.act, copy.reset, lambda name: getattr(copy.state, name))


@needs_compiler
@pytest.mark.parametrize("name", POLICIES)
def test_same_actions_and_memory_in_every_step_of_whole_episodes(name: str, tmp_path: Path) -> None:
    for env, n in ((CARTPOLE, 4), (TWO_WAY, 8)):
        policy = POLICIES[name](env)
        actions = acts_alike(policy, exported(policy, tmp_path / env), env, n)
        assert len(set(actions)) > 1, "an episode of one action proves nothing"


def test_every_rule_and_filter_is_among_these_policies() -> None:
    described = [describe(make(CARTPOLE)) for make in POLICIES.values()]
    assert {d.controller.rule for d in described if d.controller} == set(RULES) == set(ONNX_RULES)
    assert {type(rule) for d in described for rule in d.filters} == set(FILTERS)


def test_other_actions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_out, "STEPS", {})
    with pytest.raises(InputError, match="actions of kind 'discrete' cannot be written as C"):
        export_c(fresh("dqn"), tmp_path / "policy.c")


@needs_compiler
@pytest.mark.parametrize("name", ["logits", "mixture", "held logits", "dial"])
def test_actions_are_drawn_by_the_numbers_of_the_caller(name: str, tmp_path: Path) -> None:
    policy = POLICIES[name](CARTPOLE)
    copy, rng = exported(policy, tmp_path), np.random.default_rng(7)
    policy.seed(7)
    steps = list(episodes(policy, CARTPOLE, 3, deterministic=False))
    for obs, starts, action, _ in steps:
        if starts:
            copy.reset()
        assert copy.sample(obs, rng.random()) == action
    assert copy.sample(steps[0][0], 1.0) in (0, 1)  # out of range, and still an action


@needs_compiler
def test_price_is_a_setting(tmp_path: Path) -> None:
    policy = POLICIES["dial"](CARTPOLE)
    copy = exported(policy, tmp_path)
    repeated = []
    for price in (-10.0, -0.01, 0.0, 0.3, 5.0, 1e9):
        copy.state.price = price
        copy.reset()  # keeps the price
        actions = acts_alike(policy.at(price), copy, CARTPOLE, 2)
        repeated.append(np.mean(np.diff(actions) == 0))
    assert repeated[0] < repeated[-1]
    copy.state.price = float("nan")
    assert copy.act(OBS[0]) in (0, 1)


@needs_compiler
@pytest.mark.parametrize("name", ["planner without a limit", "limit"])
def test_limit_is_a_setting(name: str, tmp_path: Path) -> None:
    policy = POLICIES[name](CARTPOLE)
    copy = exported(policy, tmp_path)
    for rate, burst in ((0.0, 3.0), (0.1, 1.0), (0.25, 9.0)):
        limited = policy.with_limit(rate, burst)
        assert limited.limit is not None
        copy.state.rate, copy.state.burst = limited.limit.rate_units, limited.limit.burst_units
        copy.reset()
        actions: list[int] = []
        for obs, starts, action, state in episodes(limited, CARTPOLE, 3):
            if starts:
                copy.reset()
                actions = []
            assert copy.act(obs) == action
            assert copy.state.tokens == state[TOKENS][0]
            actions.append(action)
            assert violations(actions, [(rate, burst)] * len(actions)) == []


@needs_compiler
def test_settings_out_of_range_count_as_the_nearest(tmp_path: Path) -> None:
    copy = exported(POLICIES["limit"](CARTPOLE), tmp_path)
    copy.state.rate, copy.state.burst = -5, 0
    copy.reset()
    actions = [copy.act(obs) for obs in OBS]
    assert (np.diff(actions) != 0).sum() == 1  # one token, and no other ever comes
    assert copy.state.tokens == 0
    copy.state.rate, copy.state.burst = 2**62, 2**62
    copy.reset()
    assert len({copy.act(obs) for obs in OBS}) == 2
    assert copy.state.tokens == TOKEN * 1_000_000


@needs_compiler
def test_threshold_is_a_setting(tmp_path: Path) -> None:
    policy = POLICIES["hysteresis on logits"](CARTPOLE)
    copy = exported(policy, tmp_path)
    copy.state.threshold = 0.4
    acts_alike(policy.with_hysteresis(0.4), copy, CARTPOLE, 3)


@needs_compiler
def test_observation_that_is_not_finite_gives_an_action(tmp_path: Path) -> None:
    for name in ("mixture", "planner", "held values", "dial that is a gate"):
        copy = exported(POLICIES[name](CARTPOLE), tmp_path)
        for bad in (np.nan, np.inf, -np.inf):
            assert copy.act(np.full(4, bad)) in (0, 1)
            assert copy.sample(np.full(4, bad), 0.5) in (0, 1)


@needs_compiler
@pytest.mark.parametrize("algorithm", ["DQN", "PPO", "QRDQN"])
def test_zip_of_stable_baselines_acts_alike(
    algorithm: str, tmp_path: Path, sb3_model: Callable[..., Any]
) -> None:
    _, path = sb3_model(algorithm, CARTPOLE)
    statistics = ([0.0, 0.1, 0.0, -0.1], [0.01, 0.5, 0.002, 0.4])
    for normalise in (None, statistics):
        core = load_core(path, CARTPOLE, normalise=normalise)
        for policy in (core, core.with_hysteresis(0.05), core.with_limit(0.1, 2)):
            acts_alike(policy, exported(policy, tmp_path), CARTPOLE, 2)


@needs_compiler
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["dqn", "sac"])
def test_temperature_of_a_core_is_kept(kind: str, temperature: float, tmp_path: Path) -> None:
    policy = POLICIES["values" if kind == "dqn" else "logits"](CARTPOLE)
    core = load_core(policy, CARTPOLE, temperature=temperature).with_hysteresis(0.2)
    copy, rng = exported(core, tmp_path), np.random.default_rng(1)
    acts_alike(core, copy, CARTPOLE, 2)
    core.seed(1)
    copy.reset()
    state = None
    for obs in OBS[:50]:
        action, state = core.predict(obs, state)
        assert copy.sample(obs, rng.random()) == action


@needs_compiler
def test_discrete_observations_and_another_first_action(tmp_path: Path) -> None:
    class Walk(gym.Env):
        observation_space = gym.spaces.Discrete(6, start=3)
        action_space = gym.spaces.Discrete(2, start=-4)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[int, dict[str, Any]]:
            self.t, self.rng = 0, np.random.default_rng(seed)
            return 3, {}

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            self.t += 1
            return int(self.rng.integers(3, 9)), 0.0, self.t > 40, False, {}

    policy = fresh("ndqn", env=Walk).with_limit(0.3, 2)
    copy = exported(policy, tmp_path)
    actions = acts_alike(policy, copy, Walk(), 3)
    assert set(actions) <= {-4, -3}
    assert copy.act(2**31 - 1) in (-4, -3)  # no such state, and no crash


@needs_compiler
def test_hostile_names_stay_in_one_comment(tmp_path: Path) -> None:
    policy = POLICIES["mixture"](CARTPOLE)
    plain = export_c(policy, tmp_path / "plain.c").path.read_text().splitlines()
    policies: list[Any] = [
        policy.replace(task=HOSTILE),
        load_core(policy, CARTPOLE, name=HOSTILE).with_limit(0.1),
    ]
    for hostile in policies:
        path = export_c(hostile, tmp_path / "hostile.c").path
        lines = path.read_text().splitlines()
        assert re.fullmatch(r" \* [A-Za-z0-9 _.,:;()=+-]*", lines[2])
        assert "evil" in lines[2]
        assert "evil" not in "".join(lines[:2] + lines[3:])
        compile_c(path, "-c")
    lines = export_c(policies[0], tmp_path / "hostile.c").path.read_text().splitlines()
    assert lines[:2] + lines[3:] == plain[:2] + plain[3:]


@needs_compiler
def test_file_has_no_mutable_globals_and_needs_the_math_library_alone(tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm to list the symbols")
    for name in ("mixture", "planner that is a gate", "dial", "held logits"):
        path = export_c(POLICIES[name](TWO_WAY), tmp_path / "policy.c").path
        listed = subprocess.run(
            ["nm", compile_c(path, "-c")], capture_output=True, text=True, check=True
        ).stdout
        symbols = [line.split()[-2:] for line in listed.splitlines()]
        outside = {symbol for kind, symbol in symbols if kind == "U"} - {"__stack_chk_fail"}
        assert outside <= {"expf", "logf", "log1pf", "sqrtf", "memset", "memcpy"}
        assert {kind for kind, _ in symbols} <= {"U", "T", "t", "r"}
        public = {symbol for kind, symbol in symbols if kind == "T"}
        assert public == {"policy_init", "policy_reset", "policy_act", "policy_sample"}


@needs_compiler
def test_program_of_the_docs_runs_the_file_as_its_own_header(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "interop.md"
    (program,) = re.findall(r"^```c\n(.*?)^```", page.read_text(), re.M | re.S)
    policy = POLICIES["limit"](CARTPOLE)
    export_c(policy, tmp_path / "policy.c")
    (tmp_path / "program.c").write_text(program)
    path = compile_c(tmp_path / "program.c", str(tmp_path / "policy.c"))
    printed = subprocess.run([path], capture_output=True, text=True, check=True).stdout
    expected, state = [], None
    for step in range(3):
        obs = np.array([0, 0, 0.1 * step, 0], np.float32)
        action, state = policy.predict(obs, state, deterministic=True)
        expected.append(str(action))
    assert printed.split() == expected


def test_same_policy_gives_the_same_bytes(tmp_path: Path) -> None:
    policy = POLICIES["dial"](CARTPOLE)
    one, two = (export_c(policy, tmp_path / f"{n}.c").path.read_bytes() for n in "ab")
    assert one == two


def test_what_cannot_be_written_is_refused_in_one_sentence(tmp_path: Path) -> None:
    pixels: Policy = fresh("dqn", env=Catch)
    function = load_core(lambda obs: (obs[:, 0] > 0).astype(int), CARTPOLE, output="action")
    policy = fresh("dqn")
    path = write_model(tmp_path / "core.onnx", [helper.make_node("MatMul", ["obs", "w"], ["q"])])
    network = load_core(path, CARTPOLE, output="q")
    for refused, message in (
        (pixels, "the layer (ChannelsFirst|Conv) cannot be written as C"),
        (function, "is not known, so it cannot be exported"),
        (network, "is not known, so it cannot be exported"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            export_c(refused, tmp_path / "policy.c")
        assert str(caught.value).count("\n") == 0
    with pytest.raises(InputError, match=r"a C file ends in \.c"):
        export_c(policy, tmp_path / "policy.h")
    assert not list(tmp_path.glob("*.[ch]"))
