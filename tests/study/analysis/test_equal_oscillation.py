import pytest

from policy_inertia.study.analysis.equal_oscillation import return_beyond_filter, standing
from policy_inertia.study.analysis.statistics import mean_and_t_interval
from policy_inertia.study.results import LineResults
from tests.support.synthetic_results import figures, line


def filtered(*curve: tuple[float, float]) -> LineResults:
    """A line of one seed: return and oscillation as it is, and then at rising thresholds."""
    one = line("SAC", seeds=1)
    points = [{"sampled": figures(r, o, 0.1), "greedy": figures(r, o, 0.1)} for r, o in curve]
    one.results[0].update(points[0])
    one.hysteresis.update({float(i): [p] for i, p in enumerate(points[1:], 1)})
    return one


RIVAL = filtered((10, 0.5), (9, 0.3), (5, 0.1))


@pytest.mark.parametrize(
    ("own", "oscillation", "expected"),
    [
        (9.5, 0.3, {0: 0.5}),  # at a threshold
        (9.0, 0.4, {0: -0.5}),  # half-way between two
        (11.0, 0.7, {0: 1.0}),  # the rival oscillates less as it is
        (11.0, 0.05, {}),  # no threshold comes down to it
    ],
)
def test_the_rival_is_filtered_to_our_oscillation(
    own: float, oscillation: float, expected: dict[int, float]
) -> None:
    ours = filtered((own, oscillation))
    assert return_beyond_filter(ours, RIVAL) == pytest.approx(expected)


def test_a_seed_that_the_rival_has_not_run_is_left_out() -> None:
    assert return_beyond_filter(line("NSAC", seeds=3), filtered((10, 0.01))).keys() == {0}


def test_what_stands_stands_after_holms_correction() -> None:
    clear, weak = mean_and_t_interval([1.0, 1.1, 0.9, 1.0]), mean_and_t_interval([1.0, 0.1, 1.9])
    assert standing([clear, None, weak]) == [True, False, False]
    assert standing([]) == []
