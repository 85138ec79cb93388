import json
import re
from pathlib import Path

from tests.cli.conftest import Run


def test_comparison_ends_in_a_table_and_a_report(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "c"
    settings = ["eval_every=400", "eval_episodes=2", "final_episodes=2", "nsac.mu0=0.5"]
    words = ("compare", "sac", "nsac", "--steps", 800, "--seeds", 2, "--out", out, "--set")
    code, text, _ = run(*words, *settings)
    assert code == 0
    first, second = text.splitlines()[:2]
    assert first == (
        f"Comparing sac, nsac on CartPole-v1, with 2 seeds and 800 steps a run, in {out}"
    )
    assert second.startswith("4 of 4 runs to do, 3,200 steps in all")
    assert re.search(r"nsac +[\d.]+ \[[\d.]+, [\d.]+\]", text)
    assert "95% bootstrap interval over 2 seeds" in text
    assert "policy-inertia compare sac nsac" in (out / "report.html").read_text()
    assert list((out / "figures").glob("*curves.png"))
    (about,) = out.glob("runs/*/nsac,mu0=0.5/seed-0/run.json")
    config = json.loads(about.read_text())["config"]
    assert (config["config"]["mu0"], config["eval_every"]) == (0.5, 400)
    assert run(*words, *settings).code == 0  # nothing is left to do


def test_one_seed_is_called_so(run: Run, tmp_path: Path) -> None:
    words = ("compare", "sac", "--env", "NoSuchEnv-v0", "--seeds", 1, "--out", tmp_path / "c")
    assert "on NoSuchEnv-v0, with 1 seed and 50,000 steps a run" in run(*words).out
