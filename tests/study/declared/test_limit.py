from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia.calibration.first_settings import MARGINS, SETTINGS
from policy_inertia.calibration.within_limits import EVERY, LIMITS
from policy_inertia.study.analysis.at_budget import (
    TUNED,
    at_budgets,
    budget_records,
    read_records,
)
from policy_inertia.study.analysis.best_rivals import (
    rival_comparisons,
)
from policy_inertia.study.analysis.constant_action import LABEL
from policy_inertia.study.analysis.paired import paired_differences
from policy_inertia.study.declared.frontier import STUDY as FRONTIER
from policy_inertia.study.declared.limit import BUDGETS, STUDY
from policy_inertia.study.declared.limit_lander import STUDY as LANDER
from policy_inertia.study.plan import Study
from policy_inertia.study.report.markdown import (
    MEASURED,
    budget_tables,
    kept_table,
    paired_page,
)
from policy_inertia.study.run_records import Records, read_record, recorded_results

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "limit"
OURS = "limit, tuned in a bucket"
LEARNER = "twin critics" + TUNED


def test_all_lines_have_the_same_learner_steps_and_network() -> None:
    assert len(STUDY.experiments) == 5
    assert min(STUDY.seeds) > 104  # 100 was looked at in design
    for experiment in STUDY.experiments:
        assert experiment.limits == BUDGETS
        configs = [line.config(STUDY.settings, 100) for line in experiment.lines]
        assert len({(c.steps, c.batch_size, c.gamma, c.envs) for c in configs}) == 1
        learners: list[Any] = [c.config for c in configs]
        learners += [c.core for c in learners if hasattr(c, "core")]
        same = {(c.learning_rate, c.hidden, c.train_interval, c.huber) for c in learners}
        assert len(same) == 1
        dqns = [c for c in learners if hasattr(c, "scaled")]
        assert len(dqns) == len(configs)
        assert all(c.scaled for c in dqns)


def test_highway_is_trained_for_400_000_steps() -> None:
    for experiment in STUDY.experiments[:4]:
        for line in experiment.lines:
            assert line.config(STUDY.settings, 100).steps == 400_000


def test_all_methods_are_tuned_inside_the_same_limits(tmp_path: Any) -> None:
    experiment = STUDY.experiments[0]
    for line in experiment.lines:
        run = STUDY.run(tmp_path, experiment, line, 100)
        assert run.limits == run.tuned_limits == BUDGETS


def test_every_committed_record_replaces_a_run_of_the_study() -> None:
    records = Records(RESULTS)
    runs = [r for r in STUDY.runs(Path("runs/limit")) if records.file(r).exists()]
    assert {records.file(r) for r in runs} == set(records.path.rglob("*.json"))
    assert [r.label for r in runs if not records.has(r)] == []


def test_the_tables_in_the_docs_are_made_from_the_records() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    rows = read_records(RESULTS / "records.csv")
    compared = at_budgets(rows)
    for table in (
        budget_tables(compared, "greedy"),
        budget_tables(compared, "greedy", MEASURED),
        paired_page(rows, OURS),
    ):
        assert table.strip() in page


def test_the_figures_in_the_table_are_those_of_the_runs() -> None:
    """A cell of records.csv against the record of its run."""
    records = Records(RESULTS)
    rows = {
        (r.task, r.label, r.seed, r.budget): r.figures
        for r in read_records(RESULTS / "records.csv")
        if r.actions == "greedy"
    }
    compared = 0
    for experiment, line in STUDY.lines():
        for seed in STUDY.seeds:
            run = STUDY.run(Path("runs/limit"), experiment, line, seed)
            if not records.file(run).exists():
                continue
            levels = read_record(records.file(run)).tuned_limits or {}
            for budget, level in levels.items():
                figures = rows[line.task.name, line.label + TUNED, seed, float(budget)]
                expected = level.get("greedy", {}).get("return", np.nan)
                assert figures.get("return", np.nan) == pytest.approx(expected, 1e-5, nan_ok=True)
                compared += 1
    assert compared > 100


def test_the_methods_in_the_table_are_those_of_the_runs() -> None:
    of_runs = budget_records(recorded_results(STUDY, Records(RESULTS)))
    written = [r for r in read_records(RESULTS / "records.csv") if r.label != LABEL]
    assert len(written) == len(of_runs)
    assert {(r.label, r.method) for r in written} == {(r.label, r.method) for r in of_runs}


def test_the_learner_without_a_price_is_a_rival_of_the_dials() -> None:
    compared = rival_comparisons(at_budgets(read_records(RESULTS / "records.csv")), "greedy")
    rivals = {c.best.name for c in compared}
    assert not any(c.ours.name.startswith("twin critics") for c in compared)
    assert not any(name.startswith(("dial by price", "limit")) for name in rivals)
    assert any(name.startswith("twin critics") for name in rivals)


def test_what_the_page_says_of_no_limit_is_the_mean_of_the_runs() -> None:
    task = RESULTS / "TwoWay-v0,scenario=simple"
    means = {}
    for method, price in (("limit-dqn", None), ("dial-dqn", 0.0)):
        files = [read_record(file) for file in task.rglob("*.json")]
        own = [f for f in files if f.config["method"] == method]
        own = [f for f in own if f.config["config"].get("price") == price]
        assert len(own) == 5
        means[method] = np.mean([f.result.greedy["return"] for f in own if f.result.greedy])
    page = " ".join((ROOT / "docs" / "limits.md").read_text().split())
    limit, plain = means["limit-dqn"], means["dial-dqn"]
    assert f"it returns {limit:.1f}, and the same learner that knows no limits {plain:.1f}" in page


def test_the_table_in_readme_is_part_of_the_page() -> None:
    rows = {
        "DQN with hysteresis": "DQN",
        "the dial's learner without a price, with hysteresis": "twin critics",
        "**the dial**: one run for every degree of smoothness": "dial by price",
        "the dial's learner with hysteresis, inside a limit that is always kept": LEARNER,
        "**the dial inside a limit** that is always kept": "dial by price" + TUNED,
    }
    readme, page = ((ROOT / f).read_text() for f in ("README.md", "docs/limits.md"))
    of_two_way = page.partition("**Two-Way, simple**")[2].partition("**Merge**")[0]
    for label, name in rows.items():
        shown = _cells(readme, label)
        assert len(shown) == 2
        for cell, whole in zip(shown, _cells(of_two_way, name)[-2:], strict=True):
            assert whole.startswith(cell), (label, cell, whole)


def _cells(text: str, label: str) -> list[str]:
    (line,) = [x for x in text.splitlines() if x.startswith(f"| {label} |")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_what_readme_says_of_the_dial_inside_a_limit_is_measured() -> None:
    rows = at_budgets(read_records(RESULTS / "records.csv"))
    cells = paired_differences(rows, "dial by price" + TUNED, "return")
    tested = [c for c in cells if c.p is not None]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"for the study's {len(tested)} cells" in readme
    at = {(c.task, c.rival): c for c in cells if c.budget == 0.15}
    learner, core = (at["Two-Way, simple", x] for x in (LEARNER, "core of dial by price"))
    e = learner.estimate
    assert f"gains {e.value:.1f} [{e.low:.1f}, {e.high:.1f}] over its learner inside a" in readme
    assert not learner.resolved
    assert f"Its gain of {core.estimate.value:.1f} over hysteresis on its own core does" in readme
    assert core.resolved
    table = ("DQN", "twin critics", LEARNER, "dial by price")
    assert not any(c.resolved for c in cells if c.task == "Merge" and c.rival in table)


def test_what_the_page_says_of_trials_is_in_the_records() -> None:
    records = [read_record(file) for file in Records(RESULTS).path.rglob("*.json")]
    tables = [r.result.calibration for r in records if r.result.calibration is not None]
    rows = [table.trials for table in tables]
    page = " ".join((ROOT / "docs" / "limits.md").read_text().split())
    assert f"*As it is* has {min(rows)} to {max(rows)} in the calibrations" in page
    assert len(LIMITS) * -(-SETTINGS // EVERY) == 240
    prices = 1 + len(MARGINS) + 1 + SETTINGS - 1  # the core, margins, 0, and the spread ones
    assert len(LIMITS) * -(-prices // EVERY) == 300


def test_the_page_says_how_many_cells_are_above_their_budget() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    assert kept_table(read_records(RESULTS / "records.csv")) in page


def test_limits_of_this_round_and_of_those_that_share_its_records_are_chosen_by_the_mean() -> None:
    for study in (STUDY, LANDER, FRONTIER):
        assert {run.limits_by for run in study.runs(Path("x")) if run.limits} == {"mean"}
    assert Study("own", "", STUDY.experiments).limits_by == "upper bound"
