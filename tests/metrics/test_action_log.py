from collections.abc import Sequence

import numpy as np
import pytest

from policy_inertia import InputError, summarise
from policy_inertia.metrics.action_log import MOST_ACTIONS, ActionLog, Measurement, log_of
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import MEASURES

NAN = np.nan


def log(*episodes: Sequence[float | str]) -> ActionLog:
    return log_of([np.array(episode) for episode in episodes], "lists")


def test_figures_are_those_of_an_evaluation_of_the_same_actions() -> None:
    episodes = [[0, 1, 0, 0, 2], [2, 2], [1]]
    figures = Measurement(log(*episodes)).figures
    evaluated = summarise([Episode(1.0, np.array(e), True) for e in episodes])
    assert figures == {name: evaluated[name] for name in figures}
    assert set(figures) == {"length", "oscillation_ratio", "reversal_ratio", "mean_dwell"}
    assert all(MEASURES[name].of_actions for name in figures)


def test_figures_of_a_small_log_are_as_computed_by_hand() -> None:
    measured = Measurement(log(["a", "b", "a", "a"], ["b", "b"]), step_time=0.5)
    figures = measured.figures
    assert figures["oscillation_ratio"] == (2 / 4 + 0) / 2
    assert figures["reversal_ratio"] == (1 / 4 + 0) / 2
    assert figures["mean_dwell"] == 6 / 4
    assert figures["switches_per_second"] == figures["oscillation_ratio"] / 0.5
    assert figures["reversals_per_second"] == figures["reversal_ratio"] / 0.5
    assert figures["mean_dwell_seconds"] == figures["mean_dwell"] * 0.5
    assert figures["length_seconds"] == 3 * 0.5
    assert measured.log.names == ("a", "b")
    assert measured.switch_matrix.tolist() == [[1, 1], [1, 1]]
    assert measured.holds.tolist() == [1, 1, 2, 2]


def test_steps_without_a_time_have_no_seconds() -> None:
    assert not [name for name in Measurement(log([0, 1])).figures if "second" in name]


def test_each_measure_in_seconds_has_one_number_per_episode_as_in_steps() -> None:
    measured = Measurement(log([0, 1, 0, 1], [0, 0]), step_time=0.1)
    by_name = {measure.name: measure for measure in measured.measures}
    per_second = by_name["switches_per_second"].values(measured.evaluation)
    assert per_second is not None
    assert per_second.tolist() == pytest.approx([7.5, 0.0])


def test_whole_numbers_of_any_type_are_the_same_actions() -> None:
    logs = [log([3, -1, 3]), log([3.0, -1.0, 3.0])]
    logs.append(log_of([np.array([3, -1, 3], np.int8)], "lists"))
    logs.append(log_of([np.array([10**9, -1, 10**9])], "lists"))  # a large range is sorted
    for each in logs:
        assert each.episodes[0].tolist() == [1, 0, 1]
    assert logs[0].names == ("-1", "3")


def test_booleans_are_two_actions() -> None:
    assert log_of([np.array([True, False])], "lists").names == ("0", "1")


def test_nan_after_the_end_of_an_episode_is_left_out() -> None:
    assert [len(e) for e in log([0, 1, NAN, NAN], [1, NAN, NAN, NAN]).episodes] == [2, 1]


def test_episode_of_one_step_never_switches() -> None:
    figures = Measurement(log([7])).figures
    assert (figures["oscillation_ratio"], figures["mean_dwell"]) == (0, 1)


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([], "holds no actions"),
        ([[], []], "holds no actions"),
        ([[0, 1], []], "holds no actions in episode 1"),
        ([[0, 1], [NAN, NAN]], "holds no actions in episode 1"),
        ([[0, NAN, 1]], "holds nan at step 1 of episode 0"),
        ([[0, np.inf]], "holds inf at step 1 of episode 0"),
        ([[0, 0.25]], r"the action 0\.25: expected discrete actions"),
        ([[0, 2.0**60]], "holds the action 1.15292e.18"),
        ([list(range(MOST_ACTIONS + 1))], "more than 1,000 different actions"),
        ([[1j, 2]], "holds complex128"),
    ],
)
def test_log_that_cannot_be_measured_is_refused_in_one_sentence(
    episodes: list[list[float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        log(*episodes)


@pytest.mark.parametrize("step_time", [0, -1, NAN, np.inf])
def test_time_of_a_step_is_a_positive_number(step_time: float) -> None:
    with pytest.raises(InputError, match="give the seconds of a step"):
        Measurement(log([0, 1]), step_time)


def test_summary_is_json_and_the_text_names_every_measure() -> None:
    measured = Measurement(log(["left", "right"], ["left"]), 0.1)
    summary = measured.summary()
    assert summary["actions"] == ["left", "right"]
    assert summary["switch_matrix"] == [[0, 1], [0, 0]]
    assert (summary["episodes"], summary["steps"], summary["layout"]) == (2, 3, "lists")
    text = str(measured)
    assert text.startswith("lists: 2 episodes of 1 to 2 steps, 2 different actions\n")
    assert all(measure.title in text for measure in measured.measures)
