"""TempoRL: choices, updates and skips worked out by hand, and the exact values of a small MDP."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, export
from policy_inertia.actions.discrete import Discrete
from policy_inertia.algorithms.temporl import TempoRLConfig, best_choice
from policy_inertia.envs.spec import Spec
from policy_inertia.policies.memory import PREVIOUS_ACTION, REMAINING
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from policy_inertia.types import Transition
from tests.algorithms import reference
from tests.algorithms.test_nested import in_float64, minibatch, same
from tests.support import lights
from tests.support.pixel_game import Catch
from tests.support.policies import OBS, fresh

SKIPS = (1, 2, 4)
SPEC = Spec(3, Discrete(4 * 3), repeats=SKIPS)
DUE = np.ones(1, bool)


def batch_of(seed: int, n: int = 6) -> Transition:
    """n single steps and n skips."""
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 4, 2 * n) * 3
    action[n:] += rng.integers(0, 3, n)
    return minibatch(2 * n, seed)._replace(action=action)


@pytest.mark.parametrize("xp", [np, jax.numpy])
def test_action_is_chosen_first_and_then_how_long_it_is_held(xp: Any) -> None:
    q = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]])
    skip_q = np.array(
        [
            [[9.0, 9.0, 9.0], [1.0, 3.0, 2.0]],  # action 1, then its second skip
            [[0.0, 0.0, 5.0], [9.0, 9.0, 9.0]],  # action 0, then its third
            [[4.0, 4.0, 1.0], [9.0, 9.0, 9.0]],  # of equals the first: action 0, one step
        ]
    )
    assert best_choice(xp.asarray(q), xp.asarray(skip_q), xp).tolist() == [4, 2, 0]


@pytest.mark.parametrize("double", [False, True])
def test_updates_agree_with_an_independent_computation(double: bool) -> None:
    config = TempoRLConfig(hidden=(6,), learning_rate=0.01, target_period=2, double=double)
    algorithm = config.build(SPEC)
    state = algorithm.init(np.random.default_rng(0))
    q, skip_q = in_float64(state.behaviour.critic), in_float64(state.skips)
    target = in_float64(state.behaviour.target)
    adam, skip_adam = reference.Adam(0.01), reference.Adam(0.01)
    for i in range(4):
        batch = batch_of(i)
        state, report, _ = jax.jit(algorithm.update)(state, batch, DUE)
        values = reference.network(target, batch.next_obs)
        best = (reference.network(q, batch.next_obs) if double else values).argmax(1)
        # the discount of a skip of j steps is gamma^j, and its reward the sum over them
        y = batch.reward + batch.discount * values[np.arange(12), best]
        action, skip = batch.action // 3, batch.action % 3
        steps, skips = np.arange(6), np.arange(6, 12)

        def loss(critic, batch=batch, y=y, rows=steps, action=action):
            out = reference.network(critic, batch.obs[rows])
            return np.mean((out[np.arange(6), action[rows]] - y[rows]) ** 2) / 2

        def skip_loss(critic, batch=batch, y=y, rows=skips, action=action, skip=skip):
            inputs = np.hstack([batch.obs, np.eye(4)[action]])[rows]
            out = reference.network(critic, inputs)
            return np.mean((out[np.arange(6), skip[rows]] - y[rows]) ** 2) / 2

        assert float(report["skip_loss"]) == pytest.approx(skip_loss(skip_q), rel=1e-4)
        adam.step(q, loss)
        skip_adam.step(skip_q, skip_loss)
        if i % 2 == 1:
            target = [[w.copy(), b.copy()] for w, b in q]
    same(state.behaviour.critic, q)
    same(state.skips, skip_q)


def test_both_networks_have_one_unit() -> None:
    """Learned in a unit that follows the task, skip values stay what they are when it changes."""
    algorithm = TempoRLConfig(hidden=(6,), scaled=True, learning_rate=0.0).build(SPEC)
    state = algorithm.init(np.random.default_rng(0))
    update, obs = jax.jit(algorithm.update), minibatch().obs
    state, _, _ = update(state, batch_of(0), DUE)
    before = algorithm.apply(algorithm.acting(state), obs, np.full(len(obs), -1))
    for seed in range(1, 4):
        large = batch_of(seed)
        state, _, _ = update(state, large._replace(reward=100 * large.reward), DUE)
    after = algorithm.apply(algorithm.acting(state), obs, np.full(len(obs), -1))
    assert float(state.behaviour.size) > 2
    np.testing.assert_allclose(after.scores, before.scores, rtol=1e-4)


def test_action_and_skip_are_explored_by_two_draws_of_epsilon() -> None:
    config = TempoRLConfig(epsilon_final=0.5, epsilon_decay=1.0)
    algorithm = config.build(SPEC)
    params = jax.tree.map(np.asarray, algorithm.acting(algorithm.init(np.random.default_rng(0))))
    n = 20_000
    obs = np.repeat(minibatch(1).obs, n, 0)
    rng = np.random.default_rng(0)
    choice = algorithm.behaviour.act(
        params, obs, np.full(n, -1), np.zeros(n), 1, rng, np.zeros(n, int)
    )
    scores = np.asarray(algorithm.apply(params, obs[:1], np.array([-1]), np).scores).reshape(4, 3)
    greedy = int(algorithm.apply(params, obs[:1], np.array([-1]), np).policy.mode()[0])
    action, skip = choice // 3, choice % 3
    assert (action == greedy // 3).mean() == pytest.approx(0.5 + 0.5 / 4, abs=0.02)
    # whatever the action is, its own best skip follows in the same share
    assert (skip == scores.argmax(1)[action]).mean() == pytest.approx(0.5 + 0.5 / 3, abs=0.02)
    both = (action == greedy // 3) & (skip == greedy % 3)
    assert both.mean() == pytest.approx((0.5 + 0.5 / 4) * (0.5 + 0.5 / 3), abs=0.02)


@pytest.fixture(scope="module")
def learned() -> Policy:
    config = settings(
        "temporl",
        "lights",
        preset="paper",
        repeats=(1, 2, 3),
        envs=16,
        gamma=lights.GAMMA,
        learning_starts=200,
        learning_rate=1e-3,
        target_period=50,
        epsilon_final=1.0,
        double=True,
    )
    session = Session(config, lights.Lights)
    while session.step < 16_000:
        session.advance()
    session.envs.close()
    return session.policy()


def test_skip_values_of_a_small_mdp_are_the_exact_ones(learned: Policy) -> None:
    """Q_skip(s, a, j) = sum_{k<j} gamma^k (P_a^k R_a)(s) + gamma^j (P_a^j max_a Q*)(s)."""
    best = lights.solve(0.0)[:, 0].max(1)
    exact = np.zeros((lights.N_STATES, lights.N_ACTIONS, 3))
    for a in range(lights.N_ACTIONS):
        value = best
        for j in range(3):
            value = lights.REWARD[:, a] + lights.GAMMA * lights.NEXT[:, a] @ value
            exact[:, a, j] = value
    scores = learned.acting(lights.OBS, np.full(lights.N_STATES, -1)).scores
    error = np.abs(np.asarray(scores).reshape(exact.shape) - exact)
    assert error.max() < 0.25, error.max()  # values are around 5
    assert error.mean() < 0.1, error.mean()


def test_an_action_is_held_for_as_long_as_was_chosen() -> None:
    policy = fresh("temporl")
    choice = policy.acting(OBS, np.full(len(OBS), -1)).policy.mode()
    action, state = policy.predict(OBS)
    np.testing.assert_array_equal(action, choice // 10)
    np.testing.assert_array_equal(state[REMAINING], choice % 10)  # steps after this one
    held = state[REMAINING] > 0
    following, after = policy.predict(-OBS, state)
    np.testing.assert_array_equal(following[held], action[held])
    np.testing.assert_array_equal(after[REMAINING][held], state[REMAINING][held] - 1)
    np.testing.assert_array_equal(after[PREVIOUS_ACTION], following)


def test_evaluation_counts_primitive_steps(learned: Policy) -> None:
    figures = evaluate(learned, lights.Lights, 2, deterministic=True).summary()
    assert figures["length"] == 50


def test_file_acts_the_same(tmp_path: Path) -> None:
    policy = fresh("temporl")
    policy.save(tmp_path / "p.safetensors")
    loaded = Policy.load(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(policy.predict(OBS)[0], loaded.predict(OBS)[0])
    assert loaded.repeats == tuple(range(1, 11))


def test_updates_count_single_steps() -> None:
    session = Session(settings("temporl", "CartPole-v1", "paper"), "CartPole-v1")
    while session.step < 400:
        session.advance()
    session.envs.close()
    assert session.replay.added == 400


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"repeats": (2, 4)}, r"repeats is \(2, 4\) for temporl: it learns from single steps too"),
        ({"n_step": 3, "repeats": (1,)}, "n_step is 3 for temporl"),
        ({"buffer_size": 79}, "8 envs that hold an action for up to 10 steps may add 80"),
    ],
)
def test_settings_that_it_cannot_have_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        settings("temporl", "CartPole-v1", **changes)


def test_what_it_cannot_do_is_refused_in_one_sentence(tmp_path: Path) -> None:
    policy = fresh("temporl")
    with pytest.raises(InputError, match="second network for how long it holds its actions"):
        export(policy, tmp_path / "p.onnx")
    with pytest.raises(InputError, match="temporl holds its actions by itself"):
        policy.with_hysteresis(1.0)
    with pytest.raises(InputError, match="has pixels and temporl learns from vectors"):
        Session(settings("temporl", "Catch"), Catch)


def test_holds_of_dqn_are_refused_because_skips_are_drawn() -> None:
    with pytest.raises(InputError, match=r"longest_hold is 50.*leave it at 1"):
        TempoRLConfig(longest_hold=50)
    config: Any = settings("temporl", "CartPole-v1").config
    assert config.longest_hold == 1  # the default preset of DQN has 50
