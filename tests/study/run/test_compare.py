"""`compare`: the smallest study, from Python."""

from pathlib import Path
from typing import Any

import pytest

from policy_inertia import InputError, compare, train
from policy_inertia.study.results import LineResults
from tests.support.runs import contents

SHORT: dict[str, Any] = {
    "steps": 1_600,
    "eval_every": 800,
    "eval_episodes": 3,
    "final_episodes": 5,
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[LineResults]:
    out = tmp_path_factory.mktemp("compare") / "c"
    overrides = {"nsac": {"mu0": 0.1}}
    results = compare(
        ["dqn", "nsac"], "CartPole-v1", 2, out, hysteresis=[1.0], overrides=overrides, **SHORT
    )
    (experiment,) = results.experiments
    return experiment.lines


def test_every_method_runs_with_every_seed(lines: list[LineResults]) -> None:
    assert [(x.label, x.task, x.seeds) for x in lines] == [
        ("dqn", "CartPole-v1", [0, 1]),
        ("nsac", "CartPole-v1", [0, 1]),
    ]
    nsac = lines[1]
    assert nsac.config["config"]["mu0"] == 0.1
    filtered, plain = nsac.hysteresis[1.0][0]["greedy"], nsac.results[0]["greedy"]
    assert filtered["oscillation_ratio"] <= plain["oscillation_ratio"]


def test_a_run_of_a_comparison_is_the_same_as_one_of_train(
    lines: list[LineResults], tmp_path: Path
) -> None:
    train("nsac", "CartPole-v1", tmp_path / "alone", seed=1, mu0=0.1, **SHORT)
    assert contents(tmp_path / "alone") == contents(lines[1].folders[1])


@pytest.mark.parametrize(
    ("methods", "seeds", "message"),
    [([], 1, "no method is given"), (["dqm"], 1, "did you mean 'dqn'"), (["dqn"], 0, "seeds is 0")],
)
def test_a_comparison_without_methods_or_seeds_is_refused(
    methods: list[str], seeds: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        compare(methods, "CartPole-v1", seeds, tmp_path / "c")


def test_a_bad_env_is_refused_before_the_folder_is_made(tmp_path: Path) -> None:
    envs: tuple[tuple[Any, str], ...] = (
        ("CartPole-v11", "did you mean"),
        (lambda: None, "register the env"),
    )
    for env, message in envs:
        with pytest.raises(InputError, match=message):
            compare(["dqn"], env, 1, tmp_path / "c")
    assert not (tmp_path / "c").exists()
