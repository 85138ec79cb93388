import numpy as np
import pytest

from policy_inertia import oscillation_ratio, summarise
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import (
    MEASURES,
    OSCILLATION,
    RETURN,
    Evaluation,
    Measure,
    select_measures,
)


def episode(
    *actions: int, return_: float = 1.0, terminated: bool = True, crashed: bool | None = None
) -> Episode:
    return Episode(return_, np.array(actions), terminated, crashed)


def names(measures: list[Measure]) -> list[str]:
    return [measure.name for measure in measures]


def test_summary_holds_every_measure_by_name() -> None:
    assert list(summarise([episode(0)])) == ["episodes", *MEASURES]


def test_measures_of_two_episodes_are_as_computed_by_hand() -> None:
    pair = [
        episode(0, 1, 0, 0, return_=1.0, crashed=True),
        episode(2, 2, return_=4.0, terminated=False, crashed=False),
    ]
    assert summarise(pair) == {
        "episodes": 2,
        "return": 2.5,
        "return_std": 1.5,
        "length": 3.0,
        "oscillation_ratio": (2 / 4 + 0 / 2) / 2,
        "head_oscillation": None,
        "reversal_ratio": (1 / 4 + 0 / 2) / 2,
        "mean_dwell": 6 / 4,
        "action_fluctuation": None,
        "sign_reversals": None,
        "jerk": None,
        "caps_smoothness": None,
        "termination_rate": 0.5,
        "crash_rate": 0.5,
        "forced_switches": None,
        "mu_mean": None,
        "mu_under_0.05": None,
        "mu_over_0.95": None,
        "switch_mixed_minus_core": None,
    }


def test_measures_of_the_controller_are_means_over_its_steps() -> None:
    mu, gap = np.array([0.0, 0.5, 1.0, 1.0]), np.array([0.0, -0.2, -0.4, -0.2])
    figures = Evaluation([episode(0, 0, 0, 0, 0)], mu, gap).summary()
    assert figures["mu_mean"] == 0.625
    assert (figures["mu_under_0.05"], figures["mu_over_0.95"]) == (0.25, 0.5)
    assert figures["switch_mixed_minus_core"] == pytest.approx(-0.2)


def test_mean_over_no_episodes_is_nan() -> None:
    figures = summarise([])
    assert all(np.isnan(figures[name]) for name in ("return", "return_std", "mean_dwell"))


def test_crash_rate_is_unknown_unless_the_env_reports_crashes() -> None:
    silent = episode(0)
    assert summarise([silent])["crash_rate"] is None
    known = [episode(0, crashed=c) for c in (True, False, False, False)]
    assert summarise([*known, silent])["crash_rate"] == 0.25


def test_oscillation_measure_agrees_with_the_public_function() -> None:
    episodes = [episode(0, 1, 1, 0), episode(3, 3), episode(2, 2, 1)]
    assert summarise(episodes)["oscillation_ratio"] == oscillation_ratio(
        [e.actions for e in episodes]
    )


def test_values_are_one_number_per_episode_whose_mean_is_the_measure() -> None:
    evaluation = Evaluation([episode(0, 1, crashed=True), episode(1, 1, 1)])
    values = OSCILLATION.values(evaluation)
    assert values is not None
    assert values.tolist() == [0.5, 0.0]
    assert values.mean() == OSCILLATION.compute(evaluation)
    assert MEASURES["crash_rate"].values(evaluation) is None  # one episode does not know
    assert MEASURES["mean_dwell"].values(evaluation) is None  # not a mean over episodes


def test_unknown_measures_are_not_selected() -> None:
    figures: list[dict[str, float | None]] = [
        {"return": 1.0, "mu_mean": None},
        {"return": 2.0, "length": 3.0},
    ]
    assert names(select_measures(figures)) == ["return", "length"]


def test_narrow_tables_show_the_termination_rate_only_where_crashes_are_unknown() -> None:
    known = dict.fromkeys(MEASURES, 1.0)
    assert names(select_measures([known], "headline")) == [
        "return",
        "oscillation_ratio",
        "action_fluctuation",
        "crash_rate",
    ]
    unknown = {**known, "crash_rate": None}
    assert names(select_measures([unknown], "headline"))[-1] == "termination_rate"
    assert "termination_rate" in names(select_measures([known], "wide"))


def test_wider_views_show_more() -> None:
    known = [dict.fromkeys(MEASURES, 1.0)]
    wide, everything = select_measures(known, "wide"), select_measures(known)
    assert "mean_dwell" in names(wide)
    assert "return_std" not in names(wide)
    assert names(everything) == list(MEASURES)


def test_title_and_text_of_a_measure() -> None:
    assert OSCILLATION.title == "oscillation ratio (switches per step)"
    assert RETURN.title == "return"
    assert (OSCILLATION.show(0.12345), OSCILLATION.show(None)) == ("0.123", "")
