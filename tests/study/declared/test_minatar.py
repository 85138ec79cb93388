from pathlib import Path

from policy_inertia.study.declared.minatar import STUDY


def test_three_games_and_four_methods_are_declared() -> None:
    runs = STUDY.runs(Path("runs/minatar"))
    assert len(runs) == 3 * 4 * 5
    assert {run.config.seed for run in runs} == {100, 101, 102, 103, 104}
    assert {run.config.steps for run in runs} == {500_000}
    assert {run.config.env.removeprefix("policy_inertia/MinAtar-") for run in runs} == {
        "Breakout-v0",
        "Asterix-v0",
        "SpaceInvaders-v0",
    }
    nested = [run.config.config for run in runs if run.config.method == "nsac"]
    assert {getattr(config, "improvement", "") for config in nested} == {"gradient", "closed-form"}
    assert all(run.hysteresis for run in runs)
