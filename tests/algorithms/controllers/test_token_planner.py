"""The controller that plans with a limit: what it learns, how it acts, what it keeps."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Limit, Policy, train
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.algorithms.controllers import limit_draws
from policy_inertia.algorithms.controllers.limit_gate import LimitGateConfig
from policy_inertia.algorithms.controllers.token_planner import LimitConfig
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.losses import IMPOSSIBLE
from policy_inertia.algorithms.sac import SACConfig
from policy_inertia.policies.memory import PREVIOUS_ACTION
from policy_inertia.policies.token_bucket import TOKENS
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.algorithms.test_nested import DUE, SPEC, in_float64, minibatch
from tests.support import lights, probes
from tests.support.switch_counter import violations

SMALL = {"hidden": (6,), "learning_rate": 0.01, "target_rate": 0.1}
CORES = [SACConfig(hidden=(6,)), DQNConfig(hidden=(6,))]


def forward(layers, x):
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
    return (x @ layers[-1][0] + layers[-1][1])[0]


def points(count: int, n: int) -> list[list[float]]:
    """Three numbers in [0, 1) for each place of a minibatch, in exact arithmetic."""
    ratio = max(np.roots([1, 0, 0, -1, -1]).real)  # x^4 = x + 1
    steps = [round(2**32 / ratio**k) for k in (1, 2, 3)]
    return [[((count * n + i) * step) % 2**32 // 2**8 / 2**24 for step in steps] for i in range(n)]


def seen(tokens: float, rate: float, burst: float, largest: float) -> list[float]:
    """What networks see of a limit and its tokens."""
    if rate == 1:
        tokens = burst = largest
    waits = ((1, 5), (1, 25), (2, 25), (3, 25))
    soon = [(h * rate + 1e-6) / (h * rate + 1e-6 + max(k - tokens, 0)) for k, h in waits]
    logarithm = np.log(1 + 100 * rate) / np.log(101)
    return [logarithm, rate == 1, tokens / largest, tokens >= 1, burst / largest, *soon]


def limit_of(u: list[float], place: int, rows: int, cost: int, largest: int) -> tuple[float, ...]:
    """Rate, burst and tokens before the step, of one place of a minibatch."""
    v = 0.0 if place < round(0.3 * rows) else 0.3 + 0.7 * u[0]
    rate = 1.0 if v < 0.3 else 0.0 if v < 0.45 else 10 ** (((v - 0.45) / 0.55 - 1) * 2.5)
    rate = int(rate * TOKEN) / TOKEN
    burst = 1 + int(u[1] * largest)
    share = (2 * u[2]) % 1
    whole = int(share * (burst - cost + 1))
    tokens = cost + (whole if u[2] < 0.5 else int(share * ((burst - cost) * TOKEN + 1)) / TOKEN)
    return rate, burst, tokens


def by_hand(config, state, batch, core_action, largest):
    """The outer critics' loss, row by row in plain Python: an independent reading of the maths."""
    twins = [in_float64(state.controller.critics.online, i) for i in (0, 1)]
    targets = [in_float64(state.controller.critics.target, i) for i in (0, 1)]
    unit = float(state.controller.size) or np.sqrt(np.mean(batch.reward**2))
    rows, hot, total = len(batch.action), np.eye(4), 0.0
    for i, u in enumerate(points(int(state.controller.updates), rows)):
        a, prev = int(batch.action[i]), int(batch.prev_action[i])
        cost = int(prev not in (-1, a))
        rate, burst, tokens = limit_of(u, i, rows, cost, largest)
        left = min(burst, tokens - cost + rate)
        worth, valued = {}, {}
        for following in range(4):
            price = int(following != a)
            if left >= price:
                then = min(burst, left - price + rate)
                x = [*batch.next_obs[i], *hot[a], *seen(then, rate, burst, largest)]
                values = [forward(t, np.array(x))[following] for t in targets]
                # double Q-learning: the twins take turns, one chooses and the other one values
                chooser = int(state.controller.updates) % 2
                low = min(values)
                worth[following] = low if config.pessimistic else values[chooser]
                valued[following] = low if config.pessimistic else values[1 - chooser]
        best = max(worth, key=lambda action: worth[action])
        if isinstance(config, LimitGateConfig):
            follow = int(core_action[i]) if int(core_action[i]) in worth else a
            best = a if worth[a] >= worth[follow] else follow
        y = batch.reward[i] / unit + batch.discount[i] * valued[best]
        last = hot[prev] if prev >= 0 else np.zeros(4)
        now = np.array([*batch.obs[i], *last, *seen(left, rate, burst, largest)])
        for t in twins:
            error = abs(forward(t, now)[a] - y)
            huber = config.huber
            total += error**2 / 2 if error <= huber else huber * error - 0.5 * huber**2
    return total / rows


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(
    ("kind", "pessimistic"),
    [(LimitConfig, True), (LimitConfig, False), (LimitGateConfig, True), (LimitGateConfig, False)],
)
@pytest.mark.usefixtures("quick_compiler")
def test_updates_agree_with_limits_and_tokens_worked_out_by_hand(
    core: Any, kind: Any, pessimistic: bool
) -> None:
    config = kind(core, largest_burst=3.0, huber=0.8, pessimistic=pessimistic, **SMALL)
    algorithm, inner = config.build(SPEC), core.build(SPEC)
    state = algorithm.init(np.random.default_rng(1))
    update, improve = jax.jit(algorithm.update), jax.jit(inner.update)
    for i in range(4):
        batch = minibatch(32, seed=i)
        # Algorithm 2's order: the outer half asks the core that has just been improved
        improved, _, _ = improve(state.core, batch, DUE[:1])
        log_core = inner.apply(inner.acting(improved), batch.next_obs, batch.action).policy.log_pi
        expected = by_hand(config, state, batch, np.argmax(log_core, 1), 3)
        state, report, _ = update(state, batch, DUE)
        assert float(report["mixed_critic_loss"]) == pytest.approx(expected, rel=3e-4)


def test_limits_of_minibatches_cover_every_rate_burst_and_level() -> None:
    """Over many updates; a stored switch has levels of 1 and more only."""
    rows = [np.stack(limit_draws.spread(np.uint32(i), 64)) for i in range(200)]  # type: ignore[arg-type]
    u_rate, u_burst, u_level = np.concatenate(rows, 1)
    rate = limit_draws.draw_rate(u_rate, np) / TOKEN
    burst = limit_draws.draw_burst(u_burst, 4 * TOKEN, np)
    assert np.mean(rate == 1) == pytest.approx(limit_draws.FREE, abs=0.01)
    assert np.mean(rate == 0) == pytest.approx(limit_draws.COUNTED, abs=0.01)
    assert rate[rate > 0].min() < 0.004
    np.testing.assert_allclose(np.bincount(burst // TOKEN)[1:] / len(burst), 0.25, atol=0.01)
    for cost in (0, TOKEN):
        level = limit_draws.draw_level(u_level, np.full_like(burst, cost), burst, np)
        assert level.min() == cost
        assert (level <= burst).all()
        assert (level == burst).mean() > 0.1  # a full bucket, as at the start of an episode
        assert 0.3 < np.mean(level % TOKEN != 0) < 0.6
    assert limit_draws.draw_burst(np.array([0.0, 0.4, 0.9]), 2_500_000, np).tolist() == [
        TOKEN,
        2 * TOKEN,
        2_500_000,
    ]


def test_no_limit_below_the_smallest_rate_is_learned() -> None:
    u = np.linspace(0, 1, 1_000, endpoint=False, dtype=np.float32)
    rate = limit_draws.draw_rate(u, np, smallest=0.05) / TOKEN
    assert np.mean(rate == 1) == pytest.approx(limit_draws.FREE, abs=0.01)
    limited = rate[rate < 1]
    assert limited.min() == pytest.approx(0.05, rel=1e-2)
    assert np.median(limited) == pytest.approx(0.05**0.5, rel=0.02)  # uniform in its logarithm
    session = Session(settings("limit-dqn", "x", smallest_rate=0.5, core_share=0.0), probes.Both)
    drawn = [session.algorithm.behaviour.draw(0, np.random.default_rng(i))[1] for i in range(50)]
    assert min(drawn) >= 0.49 * TOKEN


def test_noise_leaves_most_tokens_to_the_controller() -> None:
    rates = np.array([0.0, 0.1, 0.5, 1.0])
    np.testing.assert_allclose(limit_draws.noise(rates, 0.1, 0.3), [0.005, 0.035, 0.1, 0.1])
    np.testing.assert_array_equal(limit_draws.noise(rates[:, None], 0.1, None), 0.1)
    core = CORES[0]
    kind: Any = LimitConfig
    algorithm: Any = kind(core, core_share=0.0, noise_per_token=0.3, **SMALL).build(SPEC)
    params = algorithm.acting(algorithm.init(np.random.default_rng(0)))
    full, batch = 4.0 * TOKEN, minibatch(2)
    drawn = np.array([[0.5, rate * TOKEN, full, full] for rate in (0.1, 1.0)])
    policy = algorithm.behaviour.policy(params, batch.obs, batch.prev_action, drawn)
    alone = core.build(SPEC).apply(params.core, batch.obs, batch.prev_action).policy
    rest = 1 - np.exp(alone.log_pi)[np.arange(2), policy.mode()]  # the core's other actions
    assert 1 - np.exp(policy.log_pi).max(1) == pytest.approx(rest * [0.035, 0.1], rel=1e-3)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("kind", [LimitConfig, LimitGateConfig])
def test_host_and_device_act_alike_within_every_limit(core: Any, kind: Any) -> None:
    algorithm: Any = kind(core).build(SPEC)
    params = algorithm.acting(algorithm.init(np.random.default_rng(0)))
    batch, rng = minibatch(64), np.random.default_rng(2)
    for limit in (Limit(0, 3), Limit(0.1, 2), Limit(0.5, 6), Limit(1, 1)):
        tokens = rng.integers(0, 4 * TOKEN, 64)
        set_ = algorithm.within(params, limit, tokens)
        device = algorithm.apply(set_, batch.obs, batch.prev_action)
        host = algorithm.apply(jax.tree.map(np.asarray, set_), batch.obs, batch.prev_action, np)
        for a, b in zip(jax.tree.leaves(device), jax.tree.leaves(host), strict=True):
            np.testing.assert_allclose(a, b, atol=3e-6, rtol=1e-5)
        for i in range(8):  # one row alone takes a shorter way
            one = algorithm.within(jax.tree.map(np.asarray, params), limit, tokens[i : i + 1])
            alone = algorithm.apply(one, batch.obs[i : i + 1], batch.prev_action[i : i + 1], np)
            np.testing.assert_allclose(alone.scores[0], host.scores[i], atol=3e-6, rtol=1e-5)


def test_switch_without_a_token_is_impossible() -> None:
    algorithm: Any = LimitConfig(CORES[1]).build(SPEC)
    params = algorithm.acting(algorithm.init(np.random.default_rng(0)))
    obs, prev = minibatch(12).obs, np.repeat([-1, 0, 3], 4)
    poor = algorithm.within(params, Limit(0.1, 2), np.full(12, TOKEN - 1))
    acting = algorithm.apply(poor, obs, prev, np)
    possible = acting.scores > IMPOSSIBLE
    np.testing.assert_array_equal(possible.sum(1), [4] * 4 + [1] * 8)
    np.testing.assert_array_equal(acting.policy.mode()[4:], prev[4:])
    rich = algorithm.within(params, Limit(0.1, 2), np.full(12, TOKEN))
    assert (algorithm.apply(rich, obs, prev, np).scores > IMPOSSIBLE).all()


def test_without_a_limit_neither_tokens_nor_burst_nor_the_last_action_cost_anything() -> None:
    policy = session_policy()
    obs, prev = np.zeros((2, 1), np.float32), np.array([0, 1])
    free = policy.acting(obs, prev).scores
    for burst in (1.0, 2.5, 9.0):
        limited = policy.with_limit(1, burst)
        for tokens in (TOKEN, 3 * TOKEN):
            same = limited.acting(obs, prev, np.full(2, tokens)).scores
            np.testing.assert_allclose(same, free, atol=1e-6)


def session_policy(**changes: Any) -> Policy:
    return Session(settings("limit-dqn", "x", **changes), probes.Both).policy()


def test_training_episodes_keep_their_limits_even_with_random_actions() -> None:
    """All but those in which the core acts alone."""
    changes: dict[str, Any] = {"envs": 16, "learning_starts": 100, "core_share": 0.25, "seed": 1}
    session = Session(settings("limit-dqn", "x", "paper", **changes), probes.SwitchSeen)
    logs: list[list[int]] = [[] for _ in range(16)]
    before = session.drawn.copy()
    unlimited_switches = 0
    for _ in range(300):
        session.advance()
        over = session.decisions.prev_choice < 0
        for i in np.flatnonzero(over).tolist():
            kind, rate, burst, _ = before[i]
            episode = logs[i]
            if kind >= 0.25:
                limit = (rate / TOKEN, burst / TOKEN)
                assert violations(episode, [limit] * len(episode)) == []
            else:
                unlimited_switches += sum(np.diff(episode) != 0)
            logs[i] = []
            before[i] = session.drawn[i]
        for i in np.flatnonzero(~over).tolist():
            logs[i].append(int(session.decisions.prev_choice[i]))
    assert session.epsilon > 0.5  # so nearly every action was random
    assert unlimited_switches > 100


def test_fixed_rate_learns_one_limit_and_acts_within_it() -> None:
    policy = session_policy(rate=0.2, largest_burst=2.5)
    assert policy.limit == Limit(0.2, 2.5)
    assert policy.setting_name == "threshold"  # there is no rate to set
    session = Session(settings("limit-dqn", "x", rate=0.2, largest_burst=2.5), probes.Both)
    assert {tuple(row[1:]) for row in session.drawn.tolist()} == {(200_000, 2.5e6, 2.5e6)}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"largest_burst": 0.5}, "largest_burst is 0.5"),
        ({"largest_burst": 2_000.0}, "largest_burst is 2000"),
        ({"rate": 1.5}, "rate is 1.5"),
        ({"smallest_rate": 1.0}, "smallest_rate is 1.0"),
        ({"rate": 0.1, "smallest_rate": 0.5}, "rate is 0.1 and smallest_rate is 0.5: .* leave"),
        ({"noise": -0.1}, "noise is -0.1"),
        ({"noise_per_token": -1.0}, "noise_per_token is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LimitConfig(SACConfig(), **setting)


# --- beside dynamic programming -------------------------------------------------------------------

EXACT = ("0/1", "0/2", "0/4", "0.1/1", "0.1/2", "0.25/2", "0.5/1", "0.5/3", "1/1")
LIMITS = [(Fraction(rate), Fraction(burst)) for rate, burst in (x.split("/") for x in EXACT)]


def decisions(policy: Policy, rate: Fraction, burst: Fraction) -> np.ndarray:
    """What a policy does at every (s, a_prev, level of tokens)."""
    limited, levels = policy.with_limit(float(rate), float(burst)), lights.token_levels(rate, burst)
    actions = np.zeros((lights.N_STATES, lights.N_ACTIONS, len(levels)), int)
    for a_prev in range(lights.N_ACTIONS):
        for k, level in enumerate(levels):
            state = {
                PREVIOUS_ACTION: np.full(lights.N_STATES, a_prev),
                TOKENS: np.full(lights.N_STATES, int(level * TOKEN)),
            }
            actions[:, a_prev, k] = limited.predict(lights.OBS, state, deterministic=True)[0]
    return actions


def optimum(rate: Fraction, burst: Fraction) -> float:
    return lights.value_within(lights.solve_within(rate, burst).argmax(-1), rate, burst)


def test_best_values_of_the_small_mdp_differ_from_limit_to_limit() -> None:
    """So that coming close to each of them means something; at a rate of 1 there is no limit."""
    values = [optimum(rate, burst) for rate, burst in LIMITS]
    assert values[-1] == max(values)
    assert min(values) == values[0] < 0.5 * values[-1]
    assert values[-1] == pytest.approx(lights.value(lights.solve(0.0).argmax(-1), 0.0))


def test_filter_alone_loses_more_than_a_controller_that_plans_may() -> None:
    """The best unlimited actions, as long as there are tokens."""
    best = lights.solve(0.0).argmax(-1)[:, 0]
    for rate, burst in ((Fraction(0), Fraction(2)), (Fraction("0.1"), Fraction(2))):
        levels = lights.token_levels(rate, burst)
        shape = (lights.N_STATES, lights.N_ACTIONS, len(levels))
        filtered = np.zeros(shape, int)
        for s, a_prev, k in np.ndindex(shape):
            filtered[s, a_prev, k] = best[s] if levels[k] >= 1 else a_prev
        assert lights.value_within(filtered, rate, burst) < 0.93 * optimum(rate, burst)


def test_one_run_comes_within_3_percent_of_the_optimum_of_every_limit(tmp_path: Path) -> None:
    """Exact values of what was learned, against dynamic programming over (s, a_prev, tokens)."""
    policy = train(
        "limit-dqn",
        lights.Lights,
        tmp_path / "run",
        **lights.QUICK,
        calibration_episodes=5,
    )
    for rate, burst in LIMITS:
        learned = lights.value_within(decisions(policy, rate, burst), rate, burst)
        assert learned > 0.97 * optimum(rate, burst), (rate, burst)
    assert policy.calibration is not None
    assert policy.calibration.setting_name == "rate"
    assert policy.calibration.rows[0].setting == 1
    assert policy.calibration.rows[-1].setting == 0
    budget = policy.with_budget(0.2)
    assert budget.limit is not None
    assert budget.limit.burst == 4
