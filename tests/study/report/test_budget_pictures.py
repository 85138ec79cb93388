from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.planner.known_edges import LABEL
from policy_inertia.study.analysis.at_budget import AtBudget, at_budgets, read_records
from policy_inertia.study.declared import known_envs
from policy_inertia.study.report.budget_pictures import budget_panels

RECORDS = Path(__file__).parents[3] / "results" / "limit" / "records.csv"


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
