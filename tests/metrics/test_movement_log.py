"""Logs of continuous actions: arrays, .npy files and episodes of an evaluation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policy_inertia as pi
from tests.support.chase import Chase, Follower

RNG = np.random.default_rng(0)
ONE = RNG.uniform(-1, 1, (60, 3))


@pytest.mark.parametrize(
    ("actions", "layout", "episodes", "numbers"),
    [
        (ONE, None, 1, 3),
        (ONE[:, 0], None, 1, 1),
        (np.stack([ONE, ONE]), None, 2, 3),
        (ONE.T, "rows", 3, 1),
        (ONE, "columns", 3, 1),
        ([ONE, ONE[:5]], None, 2, 3),
        ([ONE[:, 0], ONE[:5, 0]], None, 2, 1),
    ],
)
def test_arrays_with_fractions_are_continuous(
    actions: Any, layout: Any, episodes: int, numbers: int
) -> None:
    measured = pi.measure(actions, layout=layout)
    assert len(measured.log.episodes) == episodes
    assert measured.log.space.shape == (numbers,)
    assert "continuous" in str(measured)


def test_range_is_what_the_log_covers_unless_bounds_are_given() -> None:
    shaking = np.tile([[-0.5, 0.25], [0.5, 0.25]], (30, 1))
    measured = pi.measure(shaking)
    assert measured.fluctuation_per_dimension.tolist() == [1, 0]  # the second never moves
    assert measured.figures["action_fluctuation"] == 0.5
    bounded = pi.measure(shaking, step_time=0.1, bounds=(-1, 1))
    assert bounded.figures["action_fluctuation"] == 0.25
    assert bounded.figures["fluctuation_per_second"] == 2.5
    own = pi.measure(shaking, bounds=([-1, 0], [1, 10]))
    assert own.summary()["high"] == [1, 10]
    assert own.summary()["fluctuation_per_dimension"] == [0.5, 0]


def test_whole_numbers_are_continuous_only_if_bounds_say_so() -> None:
    actions = np.array([[0, 1, 0, 1], [1, 1, 0, 0]])
    assert "action_fluctuation" not in pi.measure(actions).figures
    assert pi.measure(actions, bounds=(0, 2)).figures["action_fluctuation"] == pytest.approx(0.25)


def test_file_is_measured_like_its_array_and_shorter_episodes_end_in_nan(tmp_path: Path) -> None:
    padded = np.stack([ONE, ONE])
    padded[1, 20:] = np.nan
    np.save(tmp_path / "log.npy", padded)
    measured = pi.measure(tmp_path / "log.npy", bounds=(-1, 1))
    assert [len(e) for e in measured.log.episodes] == [60, 20]
    assert measured.figures == pi.measure([ONE, ONE[:20]], bounds=(-1, 1)).figures


def test_episodes_of_an_evaluation_are_measured_as_it_did() -> None:
    evaluation = pi.evaluate(Follower(), Chase, 3)
    figures, summary = pi.measure(evaluation.episodes).figures, evaluation.summary()
    assert figures == {name: summary[name] for name in figures}
    assert figures["action_fluctuation"] > 0


@pytest.mark.parametrize(
    ("actions", "arguments", "says"),
    [
        (np.where(ONE[3] == ONE, np.nan, ONE), {}, "NaN or an infinite number at step 3"),
        (ONE, {"bounds": (-0.5, 0.5)}, "the array gave .* bounds are -0.5 and 0.5"),
        (ONE[None, None], {}, "expected steps, steps x numbers, or episodes"),
        ([ONE, ONE[:, :2]], {}, "episodes of different or no shapes"),
        ([0, 1, 1], {"bounds": (0, 1)}, "bounds are for continuous actions"),
    ],
)
def test_bad_logs_are_refused_in_one_sentence(actions: Any, arguments: Any, says: str) -> None:
    with pytest.raises(pi.InputError, match=says):
        pi.measure(actions, **arguments)
