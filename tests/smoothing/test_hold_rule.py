"""When the last action is repeated instead of the agent's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, Policy, load_core
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.run_settings import settings
from policy_inertia.smoothing.hold_rule import HoldRule
from policy_inertia.training.session import Session
from tests.support import probes
from tests.support.calibrations import reaching
from tests.support.policies import fresh, with_mu
from tests.support.recording_env import Recorder

RNG = np.random.default_rng(0)
OBS = RNG.normal(size=(500, 4)).astype(np.float32)
PREVIOUS = RNG.integers(-1, 2, 500)
ACTION = RNG.integers(0, 2, 500)


def rule_of(
    controller: Policy | Core, hysteresis: float | None = None, deterministic: bool = False
) -> HoldRule:
    return HoldRule(controller, hysteresis, deterministic, fresh("dqn").spaces)


def state(previous: np.ndarray = PREVIOUS) -> dict[str, np.ndarray]:
    return {PREVIOUS_ACTION: previous}


@pytest.mark.parametrize(
    "make_rule",
    [
        lambda: rule_of(with_mu(fresh(), 0.2), deterministic=True),
        lambda: rule_of(fresh("dqn"), hysteresis=0.05),
        lambda: rule_of(reaching(fresh("dial-sac"), 2.0).at(0.3)),
    ],
    ids=["inertia", "hysteresis", "dial"],
)
def test_a_batch_is_decided_as_its_envs_one_by_one(make_rule: Callable[[], HoldRule]) -> None:
    rule = make_rule()
    held, after = rule.step(OBS, ACTION, state())
    for i in range(100):
        one, own = rule.step(OBS[i : i + 1], ACTION[i : i + 1], state(PREVIOUS[i : i + 1]))
        assert one[0] == held[i]
        assert own[PREVIOUS_ACTION][0] == after[PREVIOUS_ACTION][i]
    np.testing.assert_array_equal(after[PREVIOUS_ACTION], np.where(held, PREVIOUS, ACTION))
    assert held.any()
    assert not held[(PREVIOUS < 0) | (PREVIOUS == ACTION)].any()


@pytest.mark.parametrize("price", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("method", ["gate-dqn", "dial-dqn"])
def test_agent_that_acts_like_the_core_follows_the_policy_as_a_gate(
    price: float, method: str
) -> None:
    dial = reaching(fresh(method), 2.0).at(price)
    gate = next(mode for mode in dial.modes() if "the core begins" in mode.mode)
    previous = np.where(PREVIOUS < 0, 1, PREVIOUS)
    agent = dial.core().acting(OBS, previous).policy.mode()
    _, after = rule_of(dial).step(OBS, agent, state(previous))
    expected = gate.acting(OBS, previous).policy.mode()
    np.testing.assert_array_equal(after[PREVIOUS_ACTION], expected)
    assert (expected != agent).any()


@pytest.mark.parametrize("normalise", [False, True])
def test_core_is_called_only_if_the_controller_sees_what_it_prefers(normalise: bool) -> None:
    calls: list[int] = []

    def function(obs: np.ndarray) -> np.ndarray:
        calls.append(len(obs))
        return np.zeros(len(obs), int)

    core = load_core(function, "CartPole-v1")
    changes: dict[str, Any] = {"core": core_identity(core).__dict__, "normalise": normalise}
    config = settings("smooth", "CartPole-v1", **changes)
    policy = Session(config, "CartPole-v1", SpacesWithCore.of_core(core)).policy()
    rule = rule_of(policy)
    calls.clear()
    held, _ = rule.step(OBS, ACTION, state())
    assert bool(calls) == normalise
    encoded = policy.spaces.encode(OBS)
    q = policy.acting(encoded, PREVIOUS).scores  # with the core's outputs
    rows = np.arange(len(OBS))
    expected = q[rows, PREVIOUS] >= q[rows, ACTION]
    np.testing.assert_array_equal(held, expected & (PREVIOUS >= 0) & (PREVIOUS != ACTION))


@pytest.mark.parametrize(
    ("controller", "hysteresis", "message"),
    [
        (lambda: fresh("dqn"), None, "has no inertia controller: give hysteresis="),
        (lambda: fresh("dqn"), -1.0, "0 or more"),
        (lambda: fresh("nsac", env=probes.Repeat), None, "put the wrapper where the env gives"),
        (lambda: fresh("dqn-repeat"), 1.0, "also remembers remaining"),
        (lambda: load_core(lambda obs: 0, "CartPole-v1"), 1.0, "gives actions only"),
        (lambda: "nsac", 1.0, "the controller is str"),
    ],
)
def test_bad_controllers_are_refused(
    controller: Callable[[], Any], hysteresis: float | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        rule_of(controller(), hysteresis)


def test_cores_of_the_same_spaces_are_controllers() -> None:
    w = np.random.default_rng(0).normal(size=(4, 2))
    core = load_core(lambda obs: obs @ w, Recorder, output="q")
    held, _ = rule_of(core, hysteresis=0.5).step(OBS, ACTION, state())
    q, rows = OBS @ w, np.arange(len(OBS))
    gain = q[rows, ACTION] - q[rows, PREVIOUS]
    expected = (gain < 0.5) & (PREVIOUS >= 0) & (PREVIOUS != ACTION)
    np.testing.assert_array_equal(held, expected)
