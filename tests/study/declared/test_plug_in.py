"""The plug-in study: its published records, and a tiny seed of it."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from policy_inertia.study.analysis.plug_in_records import estimate_policies, read_plug_in
from policy_inertia.study.declared import plug_in
from policy_inertia.study.declared.plug_in import POLICIES, run_seed
from policy_inertia.study.report.markdown import plug_in_by_seed, plug_in_table

ROOT = Path(__file__).parents[3]


def test_the_published_records_and_tables_belong_to_the_declared_study() -> None:
    records = read_plug_in(ROOT / plug_in.RESULTS, plug_in.SEEDS)
    assert [r["seed"] for r in records] == list(plug_in.SEEDS)
    for r in records:
        assert (r["task"], r["env_kwargs"]) == (plug_in.TASK, plug_in.KWARGS)
        assert (r["core_steps"], r["steps"]) == (plug_in.CORE_STEPS, plug_in.STEPS)
        assert r["core_settings"] == plug_in.CORE
        assert r["episodes"] == plug_in.EPISODES
        assert tuple(r["policies"]) == POLICIES
        assert r["budget"] == r["policies"]["core"]["oscillation_ratio"] / 2
    docs = (ROOT / "docs" / "results.md").read_text()
    assert plug_in_table(estimate_policies(records)) in docs
    assert plug_in_by_seed(records) in docs


def test_a_seed_runs_and_a_stopped_seed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plug_in, "CORE", {**plug_in.CORE, "learning_starts": 100})
    short: dict[str, Any] = {"episodes": 4, "steps": 400, "core_steps": 400}
    first = run_seed(3, tmp_path, **short)
    assert tuple(first["policies"]) == POLICIES
    assert first["budget"] == first["policies"]["core"]["oscillation_ratio"] / 2
    assert first["cpu_seconds"]["controller"] > 0
    assert first["settings"]["no warm-up"]["config"]["warmup"] == 0
    assert first["settings"]["controller"]["config"]["warmup"] == 20  # a twentieth of 400
    assert {"torch", "stable-baselines3", "jax"} <= set(first["versions"])
    json.dumps(first, allow_nan=False)
    core = tmp_path / "seed-3" / "core.zip"
    assert zipfile.is_zipfile(core)
    written = core.stat().st_mtime_ns
    again = run_seed(3, tmp_path, **short)  # all runs are finished: only the evaluation repeats
    assert core.stat().st_mtime_ns == written
    assert again["policies"] == first["policies"]
    assert again["seconds"] == {}  # the times of a resumed seed are unknown
