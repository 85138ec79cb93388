"""A controller that plans with a limit where switches take different numbers of tokens."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Limit, Policy, train
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.actions.switching import Switching
from policy_inertia.algorithms.controllers.limit_gate import LimitGateConfig
from policy_inertia.algorithms.controllers.token_costs import TokenCosts
from policy_inertia.algorithms.controllers.token_planner import LimitConfig
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.token_bucket import TOKENS
from tests.algorithms.controllers.test_token_planner import forward, limit_of, points, seen
from tests.algorithms.test_nested import DUE, SPEC, in_float64, minibatch
from tests.support import lights
from tests.support.policies import fresh

COSTS = np.array([[0, 1, 3], [1, 0, 2], [3, 1, 0]])
FOUR = np.array([[0, 1, 2, 0.5], [1, 0, 1, 1], [2, 1, 0, 1], [0, 1, 1, 0]])


def row_by_row(table: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, table.ravel()))


def by_hand(config: Any, state: Any, batch: Any, core_action: np.ndarray) -> float:
    """The critics' loss where the dearest switch takes 2 tokens, row by row in plain Python."""
    unit, largest = 2, 4
    twins, targets = (
        [in_float64(part, i) for i in (0, 1)]
        for part in (state.controller.critics.online, state.controller.critics.target)
    )
    size = float(state.controller.size) or np.sqrt(np.mean(batch.reward**2))
    rows, hot, total = len(batch.action), np.eye(4), 0.0

    def features(tokens: float, rate: float, burst: float) -> list[float]:
        return seen(tokens / unit, rate / unit, burst / unit, largest / unit)

    for i, u in enumerate(points(int(state.controller.updates), rows)):
        a, prev = int(batch.action[i]), int(batch.prev_action[i])
        cost = 0.0 if prev < 0 else float(FOUR[prev, a])
        rate, burst, _ = limit_of(u, i, rows, 0, largest // unit)
        rate, burst = int(rate * TOKEN * unit + 1e-6) / TOKEN, burst * unit
        share = (2 * u[2]) % 1
        room = burst - cost
        level = int(share * (int(room) + 1)) if u[2] < 0.5 else share * (room + 1e-6)
        left = min(burst, min(cost + level, burst) - cost + rate)
        worth = {}
        for following in range(4):
            price = float(FOUR[a, following])
            if left >= price:
                then = min(burst, left - price + rate)
                x = [*batch.next_obs[i], *hot[a], *features(then, rate, burst)]
                worth[following] = min(forward(t, np.array(x))[following] for t in targets)
        v = max(worth.values())
        if isinstance(config, LimitGateConfig):
            follow = worth.get(int(core_action[i]), worth[a])
            v = worth[a] if worth[a] >= follow else follow
        y = batch.reward[i] / size + batch.discount[i] * v
        last = hot[prev] if prev >= 0 else np.zeros(4)
        now = np.array([*batch.obs[i], *last, *features(left, rate, burst)])
        total += sum((forward(t, now)[a] - y) ** 2 / 2 for t in twins)
    return total / rows


@pytest.mark.parametrize("kind", [LimitConfig, LimitGateConfig])
@pytest.mark.usefixtures("quick_compiler")
def test_updates_agree_with_costs_worked_out_by_hand(kind: Any) -> None:
    core = DQNConfig(hidden=(6,))
    config = kind(core, costs=row_by_row(FOUR), hidden=(6,), learning_rate=0.01, huber=1e9)
    algorithm, inner = config.build(SPEC), core.build(SPEC)
    state = algorithm.init(np.random.default_rng(1))
    update, improve = jax.jit(algorithm.update), jax.jit(inner.update)
    for i in range(3):
        batch = minibatch(32, seed=i)
        improved, _, _ = improve(state.core, batch, DUE[:1])
        log_core = inner.apply(inner.acting(improved), batch.next_obs, batch.action).policy.log_pi
        expected = by_hand(config, state, batch, np.argmax(log_core, 1))
        state, report, _ = update(state, batch, DUE)
        assert float(report["mixed_critic_loss"]) == pytest.approx(expected, rel=5e-4)


def test_switch_is_possible_where_its_own_cost_can_be_paid() -> None:
    algorithm: Any = LimitConfig(DQNConfig(hidden=(6,)), costs=row_by_row(FOUR)).build(SPEC)
    params = algorithm.acting(algorithm.init(np.random.default_rng(0)))
    obs, prev = minibatch(5).obs, np.array([-1, 0, 1, 2, 3])
    poor = algorithm.within(params, Limit(0.1, 4), np.full(5, TOKEN))
    possible = algorithm.apply(poor, obs, prev, np).scores > IMPOSSIBLE
    expected = np.concatenate([np.full((1, 4), True), FOUR <= 1])
    np.testing.assert_array_equal(possible, expected)
    device = algorithm.apply(poor, obs, prev).scores
    host = algorithm.apply(jax.tree.map(np.asarray, poor), obs, prev, np).scores
    np.testing.assert_allclose(device, host, atol=3e-6, rtol=1e-5)
    free = algorithm.apply(params, obs, prev, np).scores  # no limit: one row for all
    assert (free > IMPOSSIBLE).all()


def test_tables_that_cannot_be_planned_with_are_refused() -> None:
    core = DQNConfig(hidden=(6,))
    for costs, burst, message in (
        ((0, 1, 1, 0), 4.0, "costs has 4 numbers: give 16"),
        (row_by_row(9 * FOUR), 4.0, "costs up to 18 tokens and largest_burst is 4"),
        ((0, 1, 2), 4.0, "give a table of numbers"),
    ):
        with pytest.raises(InputError, match=message):
            LimitConfig(core, costs=costs, largest_burst=burst).build(SPEC)
    many = np.arange(25.0).reshape(5, 5) * (1 - np.eye(5))
    with pytest.raises(InputError, match="21 different numbers"):
        TokenCosts.of(row_by_row(many), 5)
    with pytest.raises(InputError, match="plans with the costs that it learned"):
        fresh("limit-dqn").with_costs([[0, 2], [1, 0]]).with_limit(0.1, 2)


def decisions(policy: Policy, rate: Fraction, burst: Fraction) -> np.ndarray:
    """What a policy does at every (s, a_prev, level of tokens)."""
    limited = policy.with_limit(float(rate), float(burst))
    levels = lights.token_levels(rate, burst, COSTS)
    actions = np.zeros((lights.N_STATES, lights.N_ACTIONS, len(levels)), int)
    for a_prev, k in np.ndindex(lights.N_ACTIONS, len(levels)):
        state = {
            PREVIOUS_ACTION: np.full(lights.N_STATES, a_prev),
            TOKENS: np.full(lights.N_STATES, int(levels[k] * TOKEN)),
        }
        actions[:, a_prev, k] = limited.predict(lights.OBS, state, deterministic=True)[0]
    return actions


def test_one_run_comes_close_to_the_optimum_of_every_limit_with_costs(tmp_path: Path) -> None:
    """Exact values of what was learned, against dynamic programming over (s, a_prev, tokens)."""
    policy = train(
        "limit-dqn",
        lights.Lights,
        tmp_path / "run",
        costs=row_by_row(COSTS),
        largest_burst=6.0,
        **lights.QUICK,
        calibration_episodes=1,
    )
    assert policy.switching == Switching.of(COSTS)
    for rate, burst in ((0, 3), (0, 6), ("0.25", 3), ("0.5", 6), (1, 3)):
        limit = Fraction(rate), Fraction(burst)
        best = lights.solve_within(*limit, COSTS).argmax(-1)
        optimum = lights.value_within(best, *limit, COSTS)
        learned = lights.value_within(decisions(policy, *limit), *limit, COSTS)
        assert learned > 0.95 * optimum, limit
