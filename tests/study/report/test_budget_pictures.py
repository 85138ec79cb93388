import shlex
from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.drawing.plots import save
from policy_inertia.planner.known_edges import LABEL
from policy_inertia.study.analysis.at_budget import AtBudget, at_budgets, read_records
from policy_inertia.study.declared import known_envs
from policy_inertia.study.report.budget_pictures import TITLE, WIDTH, budget_panels
from tests.support.pictures import is_made_again

ROOT = Path(__file__).parents[3]
RECORDS = ROOT / "results" / "limit" / "records.csv"


@pytest.fixture(scope="module")
def rows() -> list[AtBudget]:
    return at_budgets(read_records(RECORDS))


def test_a_line_has_the_means_at_the_budgets_that_every_seed_keeps(rows: list[AtBudget]) -> None:
    panels = budget_panels(rows, {}, ["DQN, tuned in a bucket"])
    (line,) = panels[0].lines
    own = [
        m
        for m in rows
        if (m.task, m.name, m.actions) == ("Two-Way, simple", "DQN, tuned in a bucket", "greedy")
    ]
    whole = [m for m in own if len(m.records) == 5]
    assert len(whole) < len(own)  # at 0.05 a seed cannot
    returns = [e.value for m in whole if (e := m.estimate("return"))]
    assert list(line.y) == returns
    ratios = [e.value for m in whole if (e := m.estimate("oscillation_ratio"))]
    assert list(line.x) == ratios


def test_the_planner_is_drawn_where_it_is_known(rows: list[AtBudget]) -> None:
    panels = budget_panels(rows, known_envs(), ["DQN"])
    edges = {p.x_label.partition(":")[0] for p in panels if LABEL in [x.label for x in p.lines]}
    assert {"Two-Way, simple", "Merge", "Intersection"} <= edges
    assert "CartPole" not in edges


def test_without_names_cores_and_plain_buckets_are_left_out(rows: list[AtBudget]) -> None:
    names = {line.label for line in budget_panels(rows, {})[0].lines}
    assert {"DQN", "limit, tuned in a bucket", "one action"} <= names
    assert not any(n.startswith("core of") or n.endswith(", in a bucket") for n in names)


def test_a_name_that_no_policy_has_is_refused(rows: list[AtBudget]) -> None:
    with pytest.raises(InputError, match="have no policy 'DNQ': did you mean 'DQN'"):
        budget_panels(rows, {}, ["DNQ"])


def test_the_picture_of_limits_is_that_of_make_pages(rows: list[AtBudget], tmp_path: Path) -> None:
    command = (ROOT / "Makefile").read_text().replace("\\\n", "").partition("limits.png --show ")[2]
    names = shlex.split(command.partition(">")[0])
    assert names
    panels = budget_panels(rows, known_envs(), names)
    save(panels, TITLE, tmp_path / "again.png", legend=True, width=WIDTH)
    again = (tmp_path / "again.png").read_bytes()
    assert is_made_again(again, ROOT / "docs" / "images" / "limits.png")
    assert not is_made_again(again, ROOT / "docs" / "images" / "filters.png")
