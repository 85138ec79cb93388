from pathlib import Path

import pytest

from policy_inertia import InputError
from policy_inertia.study.core_plan import SHORTEST_CORE, Cell, Core, CoreStudy

CORE = Core("SAC", "Pendulum-v1", 10_000, 1, {"learning_starts": 1_000, "batch_size": 64})
STUDY = CoreStudy(
    "two",
    "Two cells",
    (
        Cell("a", "A", CORE, "filters", (0.5,), 50, 20),
        Cell("b", "B", CORE, "filters", (0.5,), 50, 20, steps=50_000),
    ),
    seeds=(100, 101),
)


def test_every_seed_of_every_cell_is_a_run_seed_by_seed() -> None:
    runs = STUDY.runs(Path("out"))
    assert [r.path.as_posix() for r in runs] == [
        "out/a/seed-100",
        "out/b/seed-100",
        "out/a/seed-101",
        "out/b/seed-101",
    ]
    assert [r.steps for r in runs[:2]] == [10_000, 60_000]
    assert runs[0].config()["seed"] == 100
    assert runs[0].config()["core"]["algorithm"] == "SAC"


def test_a_scale_shortens_training_and_evaluation_and_nothing_else() -> None:
    cell = STUDY.scaled(0.1).cells[1]
    assert (cell.core.steps, cell.steps) == (1_000, 5_000)
    assert (cell.episodes, cell.calibration_episodes) == (5, 2)
    assert cell.core.settings == {"learning_starts": 100, "batch_size": 64}
    assert cell.budgets == (0.5,)
    assert STUDY.scaled(0.001).cells[0].core.steps == SHORTEST_CORE
    assert STUDY.scaled(1.0) == STUDY


def test_more_seeds_follow_the_highest_one() -> None:
    assert STUDY.with_seeds(1).seeds == (100,)
    assert STUDY.with_seeds(4).seeds == (100, 101, 102, 103)


def test_wrong_flags_are_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match="'two' has no cell 'c'"):
        STUDY.only(["c"])
    with pytest.raises(InputError, match="scale is 0"):
        STUDY.scaled(0)
    with pytest.raises(InputError, match="seeds is 0"):
        STUDY.with_seeds(0)
    assert [cell.name for cell in STUDY.only(["b"]).cells] == ["b"]
