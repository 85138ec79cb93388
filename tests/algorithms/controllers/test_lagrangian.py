"""The price that follows a budget: its steps by hand, its learning against a dial's."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia import InputError, Policy, export
from policy_inertia.algorithms.controllers.dial import DialConfig
from policy_inertia.algorithms.controllers.lagrangian import LagrangianConfig, dual_ascent
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.algorithms.test_nested import DUE, SPEC, minibatch
from tests.support import lights
from tests.support.policies import OBS, fresh

CORE = DQNConfig(hidden=(6,))
SMALL: dict[str, Any] = {"hidden": (6,), "learning_rate": 0.01, "target_rate": 0.1, "huber": 0.8}
CORE_ALONE, EXPLORED, MEASURED = 0.1, 0.5, 0.85


def built(**changes: Any) -> Any:
    return LagrangianConfig(CORE, **{**SMALL, **changes}).build(SPEC)


def priced(state: Any, price: float) -> Any:
    own = state.controller._replace(price=jnp.float32(price))
    return state._replace(controller=own)


@pytest.mark.parametrize(
    ("price", "xi", "expected"),
    [(2.0, 0.3, 2.1), (2.0, 0.1, 2.0), (2.0, 0.0, 1.95), (0.03, 0.0, 0.0), (0.0, 1.0, 0.45)],
)
def test_price_rises_above_the_budget_and_falls_below_it_down_to_0(
    price: float, xi: float, expected: float
) -> None:
    assert dual_ascent(price, xi, 0.1, 0.5) == pytest.approx(expected)


def test_at_one_price_it_learns_as_a_dial_of_that_price_whose_refund_is_the_budget() -> None:
    """A dial's updates are worked out by hand in test_dial."""
    algorithm = built(budget=0.15)
    dial = DialConfig(CORE, price=0.7, refund=0.15, **SMALL).build(SPEC)
    state = priced(algorithm.init(np.random.default_rng(1)), 0.7)
    theirs = dial.init(np.random.default_rng(1))
    squares = []
    for i in range(4):
        batch = minibatch(32, seed=i)
        squares.append(np.mean(batch.reward**2))
        state, report, _ = jax.jit(algorithm.update)(state, batch, DUE)
        theirs, their_report, _ = jax.jit(dial.update)(theirs, batch, DUE)
        expected = float(their_report["mixed_critic_loss"])
        assert float(report["mixed_critic_loss"]) == pytest.approx(expected, rel=1e-5)
        assert float(report["price"]) == pytest.approx(0.7)
    assert float(state.controller.mean_square) == pytest.approx(np.mean(squares), rel=1e-5)
    params, their_params = algorithm.acting(state), dial.acting(theirs)
    obs, prev = minibatch(16, seed=9).obs, np.arange(16) % 5 - 1
    np.testing.assert_allclose(
        algorithm.apply(params, obs, prev).scores,
        dial.apply(their_params, obs, prev).scores,
        atol=1e-4,
    )


def test_only_measured_episodes_move_the_price_and_by_the_unit_of_the_rewards() -> None:
    algorithm = built(budget=0.25, price_rate=0.2)
    state = priced(algorithm.init(np.random.default_rng(0)), 1.0)
    own = state.controller._replace(mean_square=jnp.float32(9.0))
    state = state._replace(controller=own)
    finish = algorithm.behaviour.finish
    for kind in (-1.0, CORE_ALONE, EXPLORED):
        assert finish(state, np.array([kind, 5.0, 10.0])) is state
    # 1 + 0.2 * 3 * (5 / 10 - 0.25)
    after = finish(state, np.array([MEASURED, 5.0, 10.0]))
    assert float(after.controller.price) == pytest.approx(1.15)
    assert float(algorithm.acting(after).controller.price) == pytest.approx(1.15)
    # before the first update there is no reward, so no unit and no step
    first = algorithm.init(np.random.default_rng(0))
    assert float(finish(first, np.array([MEASURED, 5.0, 10.0])).controller.price) == 0


def test_switches_and_steps_of_episodes_are_counted() -> None:
    behaviour = built().behaviour
    drawn = np.array([[MEASURED, 0, 0], [EXPLORED, 3, 7]])
    drawn = behaviour.track(drawn, np.array([-1, 2]), np.array([1, 2]))  # a start, a repetition
    assert drawn.tolist() == [[MEASURED, 0, 1], [EXPLORED, 3, 8]]
    drawn = behaviour.track(drawn, np.array([1, 2]), np.array([0, 1]))  # two switches
    assert drawn.tolist() == [[MEASURED, 1, 2], [EXPLORED, 4, 9]]


def test_in_measured_episodes_the_policy_acts_alone() -> None:
    algorithm = built()
    state = priced(algorithm.init(np.random.default_rng(0)), 0.05)
    params = jax.tree.map(np.asarray, algorithm.acting(state))
    n = 3_000
    batch = minibatch(n)
    drawn = np.zeros((n, 3))
    drawn[:, 0] = np.resize([CORE_ALONE, EXPLORED, MEASURED], n)
    policy = algorithm.apply(params, batch.obs, batch.prev_action, np)
    act = algorithm.behaviour.act
    rng = np.random.default_rng(0)
    action = act(
        params, batch.obs, batch.prev_action, drawn, 0, rng, np.zeros(n, int)
    )  # epsilon is 1
    own = action == policy.policy.mode()
    assert own[2::3].all()
    assert own[0::3].mean() < 0.5
    assert own[1::3].mean() < 0.5
    action = act(
        params, batch.obs, batch.prev_action, drawn, 10**9, rng, np.zeros(n, int)
    )  # now 0.1
    assert (action == policy.core.mode())[0::3].mean() > 0.9
    own = action == policy.policy.mode()
    assert own[2::3].all()
    assert 0.8 < own[1::3].mean() < 0.97


def chosen_actions(policy: Policy) -> np.ndarray:
    """The policy as a table [s, a_prev]."""
    columns = [
        policy.predict(
            lights.OBS, {PREVIOUS_ACTION: np.full(lights.N_STATES, a)}, deterministic=True
        )[0]
        for a in range(lights.N_ACTIONS)
    ]
    return np.stack(columns, 1)


def test_oscillation_of_a_small_mdp_comes_to_its_budget() -> None:
    budget = 0.2
    config = settings(
        "lagrangian-dqn",
        "lights",
        preset="paper",
        envs=16,
        gamma=lights.GAMMA,
        learning_starts=200,
        budget=budget,
        price_rate=0.5,
        train_interval=2,
        core={"learning_rate": 1e-3, "target_period": 50, "epsilon_decay": 1e-3},
    )
    session = Session(config, lights.Lights)
    ratios, step = [], 0
    while session.step < 20_000:
        session.advance()
        if session.step >= 12_000 and session.step > step:
            step = session.step + 400
            ratios.append(lights.switching(chosen_actions(session.policy())))
    session.envs.close()
    free = lights.switching(lights.solve(0.0).argmax(-1))
    assert free > 2 * budget  # without a price it switches far more often
    assert np.mean(ratios) == pytest.approx(budget, abs=0.05), ratios
    assert float(session.policy().params.controller.price) > 0


def test_exported_file_has_the_price(tmp_path: Path) -> None:
    policy = fresh("lagrangian-dqn")
    params = policy.params
    controller = params.controller._replace(price=np.float32(0.05))
    policy = policy.replace(params=params._replace(controller=controller))
    exported = export(policy, tmp_path / "p.onnx")
    assert exported.difference < 1e-5
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    for previous in (0, 1):
        state = {PREVIOUS_ACTION: np.full(len(OBS), previous)}
        np.testing.assert_array_equal(policy.predict(OBS, state)[0], loaded.predict(OBS, state)[0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budget": 1.5}, "budget is 1.5: it must be from 0 to 1"),
        ({"price_rate": -1.0}, "price_rate is -1.0: it must be at least 0"),
        ({"measured_share": 0.0}, "measured_share is 0.0: give a share above 0"),
        ({"measured_share": 0.9}, r"that core_share \(0.2\) leaves"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        LagrangianConfig(CORE, **changes)
