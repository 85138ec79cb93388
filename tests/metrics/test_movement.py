import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import periodogram

from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import Discrete
from policy_inertia.metrics import movement
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import MEASURES, Evaluation, summarise

ARM = Box((-1, -1), (1, 1), (2,))


def noise(n: int, seed: int = 0, episodes: int = 200) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (n, 1)) for _ in range(episodes)]


def test_fluctuation_is_the_mean_move_as_a_share_of_the_range() -> None:
    actions = np.array([[-1, 0], [1, 0], [0, 0.4]])
    assert movement.fluctuation_per_dimension(actions) == pytest.approx([0.75, 0.1])
    assert movement.fluctuation(actions) == pytest.approx(0.425)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=4, max_size=20))
def test_figures_agree_with_plain_loops(steps: list[tuple[float, float]]) -> None:
    a, n = np.array(steps), len(steps)
    moves = [[(a[t, i] - a[t - 1, i]) / 2 for i in (0, 1)] for t in range(1, n)]
    assert movement.fluctuation(a) == pytest.approx(np.mean([abs(x) for m in moves for x in m]))
    turns = [
        abs(moves[t][i]) > 0.01
        and abs(moves[t - 1][i]) > 0.01
        and moves[t][i] * moves[t - 1][i] < 0
        for t in range(1, n - 1)
        for i in (0, 1)
    ]
    assert movement.sign_reversals(a, 0.01) == pytest.approx(np.mean(turns))
    thirds = [abs(a[t] - 3 * a[t - 1] + 3 * a[t - 2] - a[t - 3]).mean() / 2 for t in range(3, n)]
    assert movement.jerk(a) == pytest.approx(np.mean(thirds), abs=1e-12)


def test_straight_line_has_no_jerk_and_turns_nowhere() -> None:
    line = np.linspace(-1, 1, 100)[:, None]
    assert movement.jerk(line) == pytest.approx(0, abs=1e-12)
    assert movement.sign_reversals(line, 0.0) == 0


def test_small_trembling_is_no_reversal_within_the_tolerance() -> None:
    trembling = np.tile([[0.0], [0.01]], (20, 1))  # half a percent of the range
    assert movement.sign_reversals(trembling, 0.01) == 0
    assert movement.sign_reversals(trembling, 0.0) == 1


def test_smoothness_of_a_wave_is_its_amplitude_times_its_frequency() -> None:
    n, k = movement.WINDOW, 10  # ten periods: 2 f / f_s is 0.4
    wave = 0.5 * np.sin(2 * np.pi * k * np.arange(n) / n)[:, None]
    assert movement.smoothness(wave) == pytest.approx(0.5 * 0.4 / (n // 2))


def test_smoothness_agrees_with_scipys_spectrum() -> None:
    actions = np.random.default_rng(1).uniform(-1, 1, 50)
    frequency, power = periodogram(actions, detrend=False, scaling="spectrum")
    amplitude = np.sqrt(2 * power)[:25]  # of sine waves
    expected = 2 * (amplitude * frequency[:25]).mean()
    assert movement.smoothness(actions[:, None]) == pytest.approx(expected)


def test_smoothness_of_the_same_noise_is_the_same_over_50_and_1000_steps() -> None:
    short, long = (np.mean([movement.smoothness(a) for a in noise(n)]) for n in (50, 1_000))
    assert long == pytest.approx(short, rel=0.03)


def test_unnormalised_smoothness_of_the_same_noise_grows_with_the_length() -> None:
    """Why the Sm of ASAP's and PAVE's code is no measure: whoever falls early looks smooth."""
    short, long = (
        np.mean([movement.unnormalised_smoothness(a) for a in noise(n)]) for n in (50, 1_000)
    )
    assert (short, long) == pytest.approx((0.88, 4.04), rel=0.02)
    assert long / short == pytest.approx(np.sqrt(1_000 / 50), rel=0.05)


def test_episodes_that_are_too_short_do_not_count() -> None:
    one = np.zeros((1, 2))
    assert movement.fluctuation(one) is None
    assert movement.sign_reversals(one[[0, 0]], 0.01) is None
    assert movement.jerk(one[[0] * 3]) is None
    assert movement.smoothness(one[[0] * 49]) is None
    shaking = np.tile([[-1, -1], [1, 1]], (30, 1))
    episodes = [Episode(0.0, actions, False, space=ARM) for actions in (one, shaking)]
    assert summarise(episodes)["action_fluctuation"] == 1
    assert summarise(episodes[:1])["action_fluctuation"] is None


def test_measures_of_movement_are_unknown_for_discrete_actions() -> None:
    figures = summarise([Episode(0.0, np.array([0, 1, 0, 1, 0]), True, space=Discrete(2))])
    names = ("action_fluctuation", "sign_reversals", "jerk", "caps_smoothness")
    assert [figures[name] for name in names] == [None] * 4
    assert figures["oscillation_ratio"] == 0.8


def test_switches_of_continuous_actions_have_a_tolerance() -> None:
    actions = np.array([[0, 0], [0.01, 0], [0.5, 0], [0.51, 0]])
    assert summarise([Episode(0.0, actions, True, space=ARM)])["oscillation_ratio"] == 1 / 4


def test_movement_is_given_per_second_where_the_step_time_is_known() -> None:
    actions = np.tile([[-1.0, -1], [1, 1]], (30, 1))
    evaluation = Evaluation([Episode(0.0, actions, True, space=ARM)])
    per_second = {}
    for name in ("action_fluctuation", "sign_reversals", "jerk"):
        timed = MEASURES[name].at_step_time(0.02)
        assert timed is not None
        per_second[timed.name] = timed.compute(evaluation)
    assert per_second == pytest.approx(
        {
            "fluctuation_per_second": 50,
            "sign_reversals_per_second": 50,
            "jerk_seconds": 4 * 50**3,
        }
    )
