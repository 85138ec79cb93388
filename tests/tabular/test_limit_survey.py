from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from policy_inertia.errors import InputError
from policy_inertia.tabular import MDP, TokenBucket, limit_survey, overtaking, solve_limit
from policy_inertia.tabular.examples import alternating
from policy_inertia.tabular.limit_survey import (
    BURSTS,
    FAMILIES,
    RATES,
    Family,
    Figures,
    LimitSurvey,
    compare_family,
    compare_limits,
    run_limit_survey,
)
from policy_inertia.tabular.theory_plots import draw_limits
from policy_inertia.tabular.theory_tables import limit_tables

SMALL_SCENES = {
    "overtaking": lambda: overtaking(ahead=2, oncoming=2),
    "taking turns": alternating,
}
SMALL = (Family("3 states", 3, 2, 0.9), Family("3 states, 5 steps", 3, 2, 1.0, horizon=5))


@pytest.fixture(scope="module")
def survey() -> LimitSurvey:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limit_survey, "FAMILIES", SMALL)
        patch.setattr(limit_survey, "SCENES", SMALL_SCENES)
        return run_limit_survey(4)


def test_the_figures_by_hand() -> None:
    """A filter loses nothing here; each limit lies on the line between the two prices."""
    comparison = compare_limits(alternating())
    assert comparison
    f = comparison.figures[RATES.index(0)]
    # 0 1 0 0 0 ... earns 1 1 1 0 1 0 ..., with switches at times 1 and 2; gamma is 1/2
    assert f.switch_rate == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert f.limit == pytest.approx((1 + 1 / 2 + (1 / 4) / (1 - 1 / 4) - 4 / 3) / (2 - 4 / 3))
    assert [f.mixed, f.price, f.filter_, f.breaks] == pytest.approx([f.limit, 0, f.limit, 0])
    assert [f.lead, f.duality_gap, f.cost] == pytest.approx([f.limit, f.limit, 0])


def test_limits_lie_between_a_filter_and_the_best_in_expectation(survey: LimitSurvey) -> None:
    rows = [f for scene in survey.scenes for f in scene.figures]
    for family in survey.families:
        rows += [*family.example.figures, *(f for row in family.figures for f in row)]
    for f in rows:
        assert f.filter_ <= f.limit + 1e-9
        assert f.price <= f.mixed + 1e-9
        assert f.limit <= f.mixed + 1e-6
        assert 0 <= f.breaks <= 1
        assert f.lead == pytest.approx(f.duality_gap - f.cost)


def test_a_survey_has_every_limit(survey: LimitSurvey) -> None:
    buckets = [p.bucket for p in survey.scenes[0].limits]
    assert buckets == [TokenBucket(rate, burst) for burst in BURSTS for rate in RATES]
    assert [f.switch_rate for f in survey.scenes[0].at_burst()] == [
        p.switch_rate for p in survey.scenes[0].limits[len(RATES) : 2 * len(RATES)]
    ]
    assert [len(r.figures) for r in survey.families] == [len(RATES)] * 2
    for r in survey.families:
        assert r.vertices[0] == len(r.example.curve.vertices)
        assert len(r.vertices) == len(r.figures[0])
    mdp = survey.families[1].example.mdp
    assert (mdp.horizon, mdp.gamma, mdp.states) == (5, 1.0, 3)


def test_a_limit_and_a_price_together_keep_the_limit_and_lie_under_prices_alone(
    survey: LimitSurvey,
) -> None:
    curve, alone = survey.priced, survey.scenes[0].curve
    limit = solve_limit(survey.scenes[0].mdp, TokenBucket(0, 4))
    assert curve.vertices[0].return_ == pytest.approx(alone.vertices[0].return_)
    assert curve.vertices[-1].return_ == pytest.approx(limit.return_)
    assert curve.vertices[-1].switch_rate <= limit.switch_rate + 1e-9
    for vertex in curve.vertices:
        assert vertex.bucket == limit.bucket
        assert vertex.return_ <= alone.best_return(vertex.switch_rate) + 1e-8


def test_the_interval_is_students(survey: LimitSurvey) -> None:
    figures = Figures(0.1, 0.9, 0.5, 0.8, 0.7, 0.2)
    rows = [[figures._replace(limit=x) for x in (0.5, 0.6, 0.7, 0.8, 0.9)]]
    result = replace(survey.families[0], figures=rows)
    mean, half = result.interval(0, "cost")
    assert mean == pytest.approx(0.2)
    assert half == pytest.approx(2.776 * np.sqrt(0.025 / 5), rel=1e-3)  # 4 degrees of freedom


def test_mdps_without_a_gain_by_switching_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    constant = MDP(np.ones((1, 2, 1)), [[0, 1]], 0.9)
    assert compare_limits(constant) is None
    draws = {0: constant, 1: alternating(), 2: constant}
    monkeypatch.setattr(Family, "draw", lambda self, seed, k: draws[k])
    result = compare_family(SMALL[0], 3)
    assert result.drawn == 3
    assert [len(row) for row in result.figures] == [1] * len(RATES)
    assert result.example.mdp is draws[1]
    with pytest.raises(InputError, match="switching gains nothing on 1 MDPs"):
        compare_family(SMALL[0], 1)


def test_the_table_fits_in_80_columns_and_the_picture_is_drawn(
    survey: LimitSurvey, tmp_path: Path
) -> None:
    file = StringIO()
    Console(file=file, width=80).print(*limit_tables(survey), sep="\n")
    text = [line.rstrip() for line in file.getvalue().splitlines()]
    assert "…" not in file.getvalue()
    block = text.index(f"{SMALL[0].name} ({len(survey.families[0].figures[0])})") + 1
    for k, rate in enumerate(RATES):
        lead = survey.families[0].interval(k, "lead")
        cells = text[block + k].split()
        assert cells[0] == str(rate)
        assert cells[5:8] == [f"{lead.mean:+.2f}", "±", f"{lead.half:.2f}"]
    whole = " ".join(text)
    assert f"3 states: {np.median(survey.families[0].vertices):.0f}; 3 states, 5 steps:" in whole
    assert "At most 4 switches in an episode and a price, mixed, on overtaking: " in whole
    draw_limits(survey, tmp_path / "limits.png")
    assert (tmp_path / "limits.png").stat().st_size > 20_000


def test_progress_names_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_survey, "FAMILIES", SMALL[:1])
    monkeypatch.setattr(limit_survey, "SCENES", {"taking turns": alternating})
    calls: list[tuple[int, int, str]] = []
    run_limit_survey(2, progress=lambda *call: calls.append(call))
    assert calls == [(0, 2, "3 states"), (1, 2, "taking turns"), (2, 2, "")]


def test_one_garnet_is_refused() -> None:
    with pytest.raises(InputError, match="garnets is 1: it must be at least 2, for an interval"):
        run_limit_survey(1)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert Figures._fields[0] == "switch_rate"
