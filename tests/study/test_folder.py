import json
import shutil
import sys
from pathlib import Path

import pytest

from policy_inertia import InputError, Policy, evaluate
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.cli import main as cli
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.storage import FORMAT
from policy_inertia.study.folder import collect
from policy_inertia.study.results import LineResults, Results
from policy_inertia.study.run.scheduler import run_study
from tests.support.runs import contents
from tests.support.tiny_studies import quick


def test_a_study_collects_every_run(undisturbed: tuple[Path, Results]) -> None:
    out, results = undisturbed
    (experiment,) = results.experiments
    assert [x.label for x in experiment.lines] == ["dqn", "nsac"]
    assert (results.failed, results.command) == ([], "policy-inertia study tiny.toml")
    assert results.versions["policy-inertia"]
    for x in experiment.lines:
        assert (x.task, x.env, x.seeds) == ("Two-Way", "policy_inertia/TwoWay-v0", [0, 1])
        assert [r["step"] for r in x.curves[0]] == list(range(0, 1_601, 200))
        written = json.loads((x.folders[1] / "result.json").read_text())
        assert {"format": FORMAT, **x.results[1]} == written
        assert contents(x.folders[0]) != contents(x.folders[1])
        plain, filtered = x.results[0]["greedy"], x.hysteresis[0.05][0]["greedy"]
        assert filtered["oscillation_ratio"] <= plain["oscillation_ratio"]
        _check_budget(x)
    assert not list(out.rglob("checkpoint-*"))  # a finished run keeps no replay


def _check_budget(line: LineResults) -> None:
    """The figures at a budget equal those of calibrating and evaluating by hand."""
    figures = line.budgets[0.3][0]
    policy = calibrate(Policy.load(line.folders[0]), line.env, 50, 0)
    assert policy.calibration is not None
    try:
        within = policy.with_budget(0.3)
    except InputError:
        assert "is not reachable" in figures["unreachable"]
        return
    evaluation = evaluate(within, line.env, 4, stream_seed(0, Stream.FINAL), deterministic=True)
    assert figures["greedy"] == evaluation.summary()
    assert figures["calibrated_return"] == policy.calibration.within(0.3).figures["return"]


def test_a_dials_core_is_held_to_the_same_budgets_by_hysteresis(tmp_path: Path) -> None:
    results = run_study(quick(methods=["dial-dqn"], budgets=[0.3]), tmp_path)
    (line,) = results.experiments[0].lines
    core = calibrate(Policy.load(line.folders[0]).core(), "CartPole-v1", 50, 0)
    within = core.with_budget(0.3)
    assert within.hysteresis is not None
    evaluation = evaluate(within, line.env, 4, stream_seed(0, Stream.FINAL), deterministic=True)
    assert line.core_budgets[0.3][0]["greedy"] == evaluation.summary()


def test_the_report_command_reports_a_folder(
    undisturbed: tuple[Path, Results],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    out, _ = undisturbed
    path = tmp_path / "r" / "all.html"
    monkeypatch.setattr(sys, "argv", ["policy-inertia", "report", str(out), "--out", str(path)])
    cli.main()
    assert "all.html (0." in capfd.readouterr().out.replace("\n", "")
    text = path.read_text()
    assert "policy-inertia study tiny.toml" in text
    assert "data:image/webp" in text  # the inspector has frames
    assert "dqn + hysteresis 0.05" in text
    assert len(json.loads((path.parent / "summary.json").read_text())["rows"]) == 9


def test_runs_of_different_versions_give_a_warning(
    undisturbed: tuple[Path, Results],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    out = Path(shutil.copytree(undisturbed[0], tmp_path / "s"))
    file = next(out.rglob("run.json"))
    description = json.loads(file.read_text())
    description["versions"]["jax"] = "0.1.0"
    file.write_text(json.dumps(description))
    assert collect(out).versions["jax"].startswith("0.1.0, ")
    monkeypatch.setattr(sys, "argv", ["policy-inertia", "report", str(out), "--no-inspect"])
    cli.main()
    assert "made by different versions (jax 0.1.0, " in capfd.readouterr().err


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no study"):
        collect(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match=r"study\.json"):
        collect(tmp_path)
    (tmp_path / "study.json").write_text(json.dumps({"format": FORMAT, "name": "x"}))
    with pytest.raises(InputError, match="title is missing"):
        collect(tmp_path)
    about = {"title": "t", "about": "", "command": "", "versions": {}, "experiments": []}
    (tmp_path / "study.json").write_text(json.dumps({"format": FORMAT, "name": "x", **about}))
    with pytest.raises(InputError, match="no finished run yet"):
        collect(tmp_path)
