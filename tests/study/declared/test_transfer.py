"""The study of `smooth` around other people's policies, and a tiny seed of it."""

import copy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from stable_baselines3.common.env_util import make_vec_env

from policy_inertia.calibration.matched import return_at
from policy_inertia.study.core_plan import Cell, Core, CoreStudy
from policy_inertia.study.core_records import RECORD, CoreRecords, read_core_record
from policy_inertia.study.declared.transfer import BUDGETS, SIGNALS, STUDY
from policy_inertia.study.report.core_page import core_page
from policy_inertia.study.run.core_job import core_job, execute
from policy_inertia.study.run.core_training import algorithm_of
from policy_inertia.training.run_folder import evaluated_policies
from tests.support.calibrations import row

ROOT = Path(__file__).parents[3]
TINY = {"learning_starts": 50, "policy_kwargs": {"net_arch": [8], "n_quantiles": 4}}


def test_three_algorithms_train_cores_on_four_tasks_with_five_seeds() -> None:
    old = [cell for cell in STUDY.cells if cell not in SIGNALS]
    cells = {(cell.core.algorithm, cell.core.env.split("/")[-1]) for cell in old}
    tasks = ("CartPole-v1", "Acrobot-v1", "LunarLander-v3", "TwoWay-v0")
    assert cells == {(name, task) for name in ("DQN", "PPO", "QRDQN") for task in tasks}
    assert len({cell.name for cell in STUDY.cells}) == 12 + 3
    assert STUDY.seeds == (100, 101, 102, 103, 104)
    assert all(cell.budgets == BUDGETS for cell in STUDY.cells)


def test_heads_masks_and_memories_have_cells_with_three_seeds(tmp_path: Path) -> None:
    assert [cell.core.algorithm for cell in SIGNALS] == ["PPO", "MaskablePPO", "RecurrentPPO"]
    runs = STUDY.runs(tmp_path)
    assert len(runs) == 12 * 5 + 3 * 3
    for cell in SIGNALS:
        assert [run.seed for run in runs if run.cell == cell] == [100, 101, 102]
        assert "seeds" not in cell.to_dict()


def test_committed_records_are_those_of_the_study_and_of_its_page() -> None:
    records, runs = CoreRecords(ROOT / "results" / "transfer"), STUDY.runs(Path("runs/transfer"))
    measured = [run for run in runs if records.read(run) is not None]
    assert {records.file(run) for run in measured} == set(records.path.rglob("*.json"))
    assert {run.cell.name for run in measured} >= {cell.name for cell in SIGNALS}
    figures = [read_core_record(records.file(run)).figures["policies"] for run in measured]
    names = Counter(level["recommended"] for policies in figures for level in policies.values())
    page = " ".join((ROOT / "docs" / "transfer.md").read_text().split())
    controller, hysteresis, core = (names[x] for x in ("controller", "hysteresis", "core"))
    assert (
        f"the controller in {controller}, hysteresis in {hysteresis}, and in {core} the core"
        in page
    )


@pytest.mark.parametrize("cell", SIGNALS, ids=lambda cell: cell.name)
@pytest.mark.usefixtures("quick_compiler")
def test_cells_of_heads_masks_and_memories_run(cell: Cell, tmp_path: Path) -> None:
    small = {**cell.core.settings, "n_steps": 50, "batch_size": 100, "n_epochs": 1}
    core = replace(cell.core, steps=200, envs=2, settings=small)
    cell = replace(
        cell, core=core, budgets=BUDGETS[:1], episodes=2, calibration_episodes=2, steps=200
    )
    (run,) = CoreStudy("tiny", "One cell", (cell,), seeds=(3,)).runs(tmp_path)
    execute(core_job(run))
    levels = read_core_record(run.path / RECORD).figures["policies"]["0.5"]
    assert {"hysteresis", "controller", "recommended"} <= set(levels)


@pytest.mark.parametrize("name", ["DQN", "PPO", "QRDQN"])
def test_every_setting_is_an_argument_of_its_algorithm(name: str) -> None:
    for cell in STUDY.cells:
        if cell.core.algorithm == name and cell not in SIGNALS:
            envs = make_vec_env("CartPole-v1", cell.core.envs)
            algorithm_of(name)("MlpPolicy", envs, device="cpu", **copy.deepcopy(cell.core.settings))


def test_a_seed_trains_one_controller_for_all_budgets_and_goes_on_after_a_kill(
    tmp_path: Path,
) -> None:
    (cell,) = STUDY.only(["qrdqn-cartpole"]).cells
    core = Core("QRDQN", "CartPole-v1", 200, 1, TINY)
    cell = replace(cell, core=core, episodes=3, calibration_episodes=2, steps=200)
    study = CoreStudy("tiny", "One cell", (cell,), seeds=(3,))
    (run,) = study.runs(tmp_path)
    execute(core_job(run))
    record = read_core_record(run.path / RECORD)
    levels = record.figures["policies"]
    assert set(levels) == set(record.figures["budgets"]) == {repr(b) for b in BUDGETS}
    for level in levels.values():
        assert level["recommended"] in ("core", "hysteresis", "controller")
        for name in ("hysteresis", "controller"):
            figures = level[name]
            rows = [row(x["setting"], x["oscillation_ratio"], x["return"]) for x in figures["rows"]]
            assert figures["return_at_level"] == pytest.approx(
                return_at(rows, level["level"] + 1e-6), abs=0.1
            )
            chosen = figures["oscillation_ratio"], figures["return"]
            assert chosen in [(r["oscillation_ratio"], r["return"]) for r in figures["rows"]]
    assert set(record.cpu_seconds) == {"core", "measured"}
    trained = evaluated_policies(run.path / "measured" / "controller")[40]
    before = trained.stat().st_mtime_ns
    (run.path / RECORD).unlink()
    execute(core_job(run))
    again = read_core_record(run.path / RECORD)
    assert again.figures == record.figures
    assert again.cpu_seconds == {}  # the times of a resumed seed are unknown
    assert trained.stat().st_mtime_ns == before
    page = core_page(study, {cell.title: [again]})
    assert f"| {cell.title} | 1 |" in page
