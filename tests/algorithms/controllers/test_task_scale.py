import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia.algorithms.controllers.task_scale import (
    TaskScale,
    unknown_scale,
    with_decisions,
    with_rewards,
)


def test_few_extreme_rewards_do_not_move_the_typical_and_the_high_reward() -> None:
    plain = np.ones(64, np.float32)
    tossed = plain.copy()
    tossed[:3] = [100, -100, 100]  # ends of episodes
    scales = []
    for rewards in (plain, tossed):
        scale = unknown_scale()
        for _ in range(3):
            scale = with_rewards(scale, jnp.asarray(rewards))
        scales.append(scale)
        assert (float(scale.typical), float(scale.high), int(scale.updates)) == (1, 1, 3)
    assert scales[0] == scales[1]


def test_steps_that_cost_and_rare_arrivals_have_no_typical_gain() -> None:
    cost = with_rewards(unknown_scale(), -jnp.arange(64.0))
    assert float(cost.typical) < 0
    assert float(cost.high) == 60
    arrival = with_rewards(unknown_scale(), jnp.zeros(64).at[5].set(1.0))
    assert (float(arrival.typical), float(arrival.high)) == (0, 0)


def decided(scale: TaskScale, gap: float, free: bool = True, core: int = 1) -> TaskScale:
    u = jnp.array([[0.0, gap, 50.0]] * 4)
    return with_decisions(scale, u, jnp.zeros(4, int), jnp.full(4, core), jnp.full(4, free))


def test_worth_of_a_decision_is_the_mean_gap_between_the_core_and_the_last_action() -> None:
    scale = decided(unknown_scale(), -3.0)  # whichever is better
    assert float(scale.decision) == 3
    # 0.5% of a new minibatch, of which no decision counts for more than 20 times the mean so far
    assert float(decided(scale, 43.0).decision) == pytest.approx(3.2)
    assert float(decided(scale, 1e6).decision) == pytest.approx(3.285)
    assert float(decided(scale, 1.0).decision) == pytest.approx(2.99)


def test_few_decisions_that_are_worth_far_more_do_not_set_the_scale() -> None:
    u = np.zeros((64, 2), np.float32)
    u[:, 1] = 1.0
    u[:2, 1] = 1_000.0  # one in 32, as at the ends of episodes
    scale = unknown_scale()
    for _ in range(3_000):
        scale = with_decisions(scale, jnp.asarray(u), *MOVES)
    assert 1 < float(scale.decision) < 3


MOVES = (jnp.zeros(64, int), jnp.ones(64, int), jnp.ones(64, bool))


def test_rows_with_a_price_or_without_a_choice_say_nothing_about_decisions() -> None:
    scale = decided(unknown_scale(), 3.0)
    assert float(decided(scale, 9.0, free=False).decision) == 3
    assert float(decided(scale, 9.0, core=0).decision) == 3
