from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from policy_inertia.errors import InputError
from policy_inertia.tabular import CHECKS, overtaking, run_survey
from policy_inertia.tabular.example_results import solve_example
from policy_inertia.tabular.theory_plots import draw_improvement, draw_tradeoff
from policy_inertia.tabular.theory_tables import survey_tables, timing_table
from policy_inertia.tabular.timing import time_by_size


def lines(*parts: object) -> list[str]:
    """The parts as printed on 80 columns."""
    file = StringIO()
    Console(file=file, width=80).print(*parts, sep="\n")
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_policies_of_an_example_lie_under_its_curve(tmp_path: Path) -> None:
    example = solve_example(overtaking(ahead=2, oncoming=2))
    for policy in (example.core, example.nested, example.rule):
        assert policy.return_ <= example.curve.best_return(policy.switch_rate) + 1e-6
    assert example.nested.switch_rate < example.core.switch_rate
    assert example.least_rate(example.core) <= example.core.switch_rate
    for draw in (draw_improvement, draw_tradeoff):
        draw([example], tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_a_survey_runs_every_check_and_reports_its_progress() -> None:
    calls: list[tuple[int, int, str]] = []
    survey = run_survey(
        2, states=3, examples=("windy-line",), progress=lambda *call: calls.append(call)
    )
    assert [r.check for r in survey.results] == list(CHECKS)
    assert [e.mdp.name for e in survey.examples] == ["windy line"]
    assert survey.broken == []
    total = len(CHECKS) + 1
    assert [done for done, _, _ in calls] == list(range(total + 1))
    assert {n for _, n, _ in calls} == {total}
    assert calls[-2:] == [(total - 1, total, "windy-line"), (total, total, "")]


def test_no_row_of_the_tables_wraps_at_80_columns() -> None:
    survey = run_survey(20, examples=("windy-line", "chain", "overtaking"))
    text = lines(*survey_tables(survey))
    for r in survey.results:
        assert sum(line.startswith(f"{r.check.statement}  ") for line in text) >= 1
    for e in survey.examples:
        (row,) = (line for line in text if line.startswith(e.mdp.name))
        assert f"{e.rule.switch_rate:.3f}, {e.rule.return_:.3f}" in row
        assert row.endswith(f"{e.least_rate(e.core):.3f}")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mdps": 0}, "mdps is 0: it must be at least 1"),
        ({"actions": 1}, "actions is 1: it must be at least 2"),
        ({"gamma": 1.0}, r"gamma is 1.0: it must lie in \[0, 1\)"),
        ({"examples": ("windyline",)}, "did you mean 'windy-line'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_survey(**settings)


def test_500_states_and_5_actions_take_seconds() -> None:
    (timing,) = time_by_size(states=(500,))
    assert timing.evaluation + timing.iteration + timing.program < 60  # about 7 s


def test_the_timing_table_has_a_row_for_each_size() -> None:
    text = "\n".join(lines(timing_table(time_by_size(states=(10, 20)))))
    assert "│ 10 " in text
    assert "│ 20 " in text
