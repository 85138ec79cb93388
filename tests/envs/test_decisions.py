from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_inertia.actions.discrete import Discrete, split_choice
from policy_inertia.envs.decisions import Decisions


def drive(choices, rewards, ends, repeats, penalty, gamma=0.9):
    """One env through `Decisions`: each step's (reward, end); the transitions, as plain tuples."""
    decisions = Decisions(np.zeros((1, 1), np.float32), Discrete(12), gamma, repeats, penalty)
    transitions, choices = [], iter(choices)
    offered = next(choices)
    for t, (reward, end) in enumerate(zip(rewards, ends, strict=True)):
        idle = decisions.remaining[0] == 0
        if idle and t:
            offered = next(choices)
        action = decisions.begin(np.array([offered]), np.array([[t]], np.float32))
        rows = decisions.end(
            action,
            np.array([[t + 1]], np.float32),
            np.array([reward]),
            np.array([end == "terminated"]),
            np.array([end == "truncated"]),
        )
        transitions += [
            tuple(np.asarray(x).ravel()[0] for x in row) for row in zip(*rows, strict=True)
        ]
    return transitions


def test_split_reads_a_choice_as_action_and_duration() -> None:
    action, hold = split_choice(np.arange(8), (1, 2, 4, 8))
    assert action.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert hold.tolist() == [1, 2, 4, 8, 1, 2, 4, 8]


def test_held_action_is_one_transition_with_discounted_reward() -> None:
    # action 1 held for 4 steps: reward 1 + .9 * 2 + .81 * 3 + .729 * 4, discount .9^4
    transitions = drive([6], [1, 2, 3, 4], [None] * 4, (1, 2, 4, 8), 0)
    assert transitions == [pytest.approx((0, -1, 6, 1 + 1.8 + 2.43 + 2.916, 0.9**4, 4))]


def test_episode_may_end_inside_a_repetition() -> None:
    transitions = drive([7, 0], [1, 1, 5], [None, "terminated", None], (1, 2, 4, 8), 0)
    assert transitions[0] == pytest.approx((0, -1, 7, 1.9, 0, 2))
    assert transitions[1] == pytest.approx(
        (2, -1, 0, 5, 0.9, 3)
    )  # a new episode, no previous action


def test_truncation_keeps_the_discount() -> None:
    (transitions,) = drive([7], [1, 1], [None, "truncated"], (1, 2, 4, 8), 0)
    assert transitions == pytest.approx((0, -1, 7, 1.9, 0.81, 2))


def test_penalty_is_taken_at_each_switch_but_not_at_the_first_action() -> None:
    transitions = drive([0, 1, 1, 0], [1, 1, 1, 1], [None, None, "truncated", None], (1,), 0.05)
    assert [row[3] for row in transitions] == pytest.approx([1, 0.95, 1, 1])
    assert [row[1] for row in transitions] == [-1, 0, 1, -1]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-5, 5), st.sampled_from([None, None, None, None, "terminated", "truncated"])
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([(1,), (1, 2, 4, 8), (3,), (2, 5)]),
    st.sampled_from([0.0, 0.05]),
    st.randoms(use_true_random=False),
)
def test_transitions_agree_with_a_plain_loop(
    steps: Any, repeats: Any, penalty: Any, random: Any
) -> None:
    choices = [random.randrange(3 * len(repeats)) for _ in range(len(steps) + 1)]
    rewards, ends = zip(*steps, strict=True)
    expected, queue = [], list(choices)
    prev_choice, prev_action, t = -1, -1, 0
    while t < len(steps):
        choice, start, total, discount = queue.pop(0), t, 0.0, 1.0
        action, over, ended = choice // len(repeats), False, None
        for _ in range(repeats[choice % len(repeats)]):
            if t == len(steps):
                break
            total += discount * (rewards[t] - penalty * (prev_action not in (-1, action)))
            discount *= 0.9
            prev_action, ended = action, ends[t]
            t += 1
            if ended:
                over = True
                break
        else:
            over = True
        if over:
            final = 0.0 if ended == "terminated" else discount
            expected.append((start, prev_choice, choice, total, final, t))
        prev_choice, prev_action = (-1, -1) if ended else (choice, action)
    transitions = drive(choices, rewards, ends, repeats, penalty)
    assert len(transitions) == len(expected)
    for got, want in zip(transitions, expected, strict=True):
        assert got == pytest.approx(want, abs=1e-9)
