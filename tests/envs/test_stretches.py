"""Skips inside held stretches, against sums by hand and a plain loop."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.stretches import Stretches

GAMMA = 0.5
SKIPS = (1, 2, 3)
Row = tuple[float, ...]


def stretches(repeats: tuple[int, ...], penalty: float = 0.0, envs: int = 1) -> Stretches:
    actions = Discrete(2 * len(repeats))
    return Stretches(np.zeros((envs, 1), np.float32), actions, GAMMA, repeats, penalty)


def drive(
    decisions: Stretches, choices: Sequence[int], rewards: Sequence[float], ends: Sequence[Any]
) -> list[list[Row]]:
    """Step t of one env sees t; the skips that each step ends, as plain tuples in their order.

    A choice is taken at every step, and counts where the last one is over.
    """
    out = []
    for t, (choice, reward, end) in enumerate(zip(choices, rewards, ends, strict=True)):
        action = decisions.begin(np.array([choice]), np.array([[t]], np.float32))
        rows = decisions.end(
            action,
            np.array([[t + 1]], np.float32),
            np.array([reward], float),
            np.array([end == "terminated"]),
            np.array([end == "truncated"]),
        )
        assert len(decisions.owners) == len(rows.action)
        plain = zip(*(np.asarray(x).reshape(len(rows.action), -1)[:, 0] for x in rows), strict=True)
        out.append(sorted(tuple(map(float, row)) for row in plain))
    return out


def test_every_skip_inside_a_stretch_is_a_transition_with_its_own_sum() -> None:
    # action 1 for 3 steps is choice 1 * 3 + 2; it pays 1, 2, 4
    first, second, third = drive(stretches(SKIPS), [5, 0, 0], [1, 2, 4], [None] * 3)
    # (obs, previous choice, choice, reward, discount, next obs)
    assert first == [(0, -1, 3, 1, 0.5, 1)]
    assert second == [(0, -1, 4, 1 + 1, 0.25, 2), (1, 5, 3, 2, 0.5, 2)]
    assert third == [
        (0, -1, 5, 1 + 1 + 1, 0.125, 3),
        (1, 5, 4, 2 + 2, 0.25, 3),
        (2, 5, 3, 4, 0.5, 3),
    ]


def test_no_skip_crosses_a_decision_even_if_the_action_stays() -> None:
    # action 1 for 2 steps, then action 1 for 1 step
    out = drive(stretches(SKIPS), [4, 4, 3], [1, 1, 1], [None] * 3)
    assert out[2] == [(2, 4, 3, 1, 0.5, 3)]


@pytest.mark.parametrize(("end", "share"), [("terminated", 0.0), ("truncated", 1.0)])
def test_an_end_cuts_skips_to_the_length_that_was_executed(end: str, share: float) -> None:
    out = drive(stretches(SKIPS), [5, 0, 0], [1, 2, 4], [None, end, None])
    assert out[1] == [(0, -1, 4, 2, 0.25 * share, 2), (1, 5, 3, 2, 0.5 * share, 2)]
    assert out[2] == [(2, -1, 0, 4, 0.5, 3)]  # a new episode, with nothing before it


def test_where_lengths_are_missing_a_cut_skip_counts_as_the_shortest_that_covers_it() -> None:
    repeats = (1, 2, 4, 8)
    out = drive(stretches(repeats), [3] * 3, [1, 1, 1], [None, None, "terminated"])
    # after 3 steps: 1 and 2 steps are in the set; 3 are not, and holding for 4 ends here as well
    assert out[2] == [(0, -1, 2, 1.75, 0, 3), (1, 3, 1, 1.5, 0, 3), (2, 3, 0, 1, 0, 3)]
    out = drive(stretches(repeats), [3] * 3, [1, 1, 1], [None] * 3)
    assert out[2] == [(1, 3, 1, 1.5, 0.25, 3), (2, 3, 0, 1, 0.5, 3)]  # no skip of 3 steps


def test_penalty_is_taken_where_the_action_switches_and_so_only_from_the_start_of_a_stretch() -> (
    None
):
    out = drive(stretches(SKIPS, penalty=0.25), [0, 4, 0], [1, 1, 1], [None] * 3)
    assert out[2] == [(1, 0, 4, 0.75 + 0.5, 0.25, 3), (2, 4, 3, 1, 0.5, 3)]


def test_random_play_agrees_with_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    repeats, n = (1, 3, 4), 300
    choices, rewards = rng.integers(0, 6, n).tolist(), rng.integers(0, 9, n).tolist()
    ends = rng.choice(["", "", "", "", "", "terminated", "truncated"], n).tolist()
    expected: list[list[Row]] = []
    start, left, choice, previous = 0, 0, -1, -1
    for t in range(n):
        if left == 0:
            start, previous, choice = t, choice, choices[t]
            left = repeats[choice % 3]
        left -= 1
        rows: list[Row] = []
        for s in range(start, t + 1):
            length = t + 1 - s
            covering = min(r for r in repeats if r >= length)
            if covering != length and not ends[t]:
                continue
            total = sum(GAMMA**k * rewards[s + k] for k in range(length))
            discount = 0.0 if ends[t] == "terminated" else GAMMA**length
            label = choice // 3 * 3 + repeats.index(covering)
            rows.append((s, previous if s == start else choice, label, total, discount, t + 1))
        expected.append(sorted(rows))
        if ends[t]:
            left, choice = 0, -1
    assert drive(stretches(repeats), choices, rewards, ends) == expected


def test_saved_in_mid_stretch_it_goes_on_the_same() -> None:
    one, two = stretches(SKIPS), stretches(SKIPS)
    drive(one, [5, 0], [1, 2], [None] * 2)
    state = one.state()
    assert two.fits(state, Discrete(2))
    two.restore(state)
    assert drive(two, [0, 2], [4, 8], [None] * 2) == drive(one, [0, 2], [4, 8], [None] * 2)


def test_envs_have_stretches_of_their_own() -> None:
    decisions = stretches(SKIPS, envs=2)
    obs = np.array([[0], [10]], np.float32)
    no = np.zeros(2, bool)
    for t in range(2):
        action = decisions.begin(np.array([1, 3]), obs + t)  # 2 steps of 0; 1 step of 1
        skips = decisions.end(action, obs + t + 1, np.array([1.0, 2.0]), no, no)
    assert decisions.owners.tolist() == [0, 0, 1]
    assert skips.obs[:, 0].tolist() == [1, 0, 11]
    assert skips.action.tolist() == [0, 1, 3]
    assert skips.reward.tolist() == [1, 1.5, 2]
