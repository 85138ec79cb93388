"""The plug-in study: its table against numbers worked out by hand, its records, going on."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.study.declared import plug_in
from policy_inertia.study.declared.plug_in import (
    POLICIES,
    against_core,
    by_seed,
    carry_out,
    load,
    table,
    values,
)


def record(seed: int, oscillation: float, total: float, crashes: float) -> dict:
    """A core at 0.6, 20 and 0.1, and every other policy at the figures given."""
    keys = ("oscillation_ratio", "return", "crash_rate")
    core = dict(zip(keys, (0.6, 20.0, 0.1), strict=True))
    other = dict(zip(keys, (oscillation, total, crashes), strict=True))
    return {
        "seed": seed,
        "policies": {name: core if name == "core" else other for name in POLICIES},
    }


# of five seeds the interquartile mean takes the middle three
RECORDS = [
    record(10, 0.30, 20.0, 0.10),
    record(11, 0.24, 19.0, 0.05),
    record(12, 0.36, 21.0, 0.15),
    record(13, 0.30, 20.4, 0.10),
    record(14, 0.30, 19.8, 0.16),
]


def test_policies_are_held_against_their_own_cores():
    ratio = against_core(RECORDS, "controller", "oscillation_ratio", relative=True)
    np.testing.assert_allclose(ratio, [-0.5, -0.6, -0.4, -0.5, -0.5])
    change = against_core(RECORDS, "controller", "return", relative=True)
    np.testing.assert_allclose(change, [0, -0.05, 0.05, 0.02, -0.01])
    crashes = against_core(RECORDS, "controller", "crash_rate", relative=False)
    np.testing.assert_allclose(crashes, [0, -0.05, 0.05, 0, 0.06])
    np.testing.assert_array_equal(values(RECORDS, "core", "return"), np.full(5, 20.0))


def test_table_shows_interquartile_means_over_seeds():
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in table(RECORDS).split("\n")[2:]]
    assert [row[0] for row in rows] == list(POLICIES)
    same = ["0.600 [0.600, 0.600]", "20.00 [20.00, 20.00]", "0.100 [0.100, 0.100]"]
    assert rows[0][1:] == [*same, "", "", ""]
    # middle three of each: 0.30 x 3; 19.8, 20, 20.4; 0.10, 0.10, 0.15
    starts = ["0.300 [", "20.07 [", "0.117 [", "0.50 [", "+0.3% [", "+0.017 ["]
    assert [cell[: len(s)] for cell, s in zip(rows[2][1:], starts, strict=True)] == starts
    low, high = rows[2][5].split("[")[1].rstrip("]").split(", ")
    assert -5 <= float(low.rstrip("%")) < 0 < float(high.rstrip("%")) <= 5
    single = table(RECORDS[:1]).split("\n")[4]
    assert "20.00 |" in single  # one seed has no interval
    assert "[" not in single
    with pytest.raises(InputError, match="at least one seed"):
        table([])
    last = by_seed(RECORDS).split("\n")[-1]
    assert last.startswith("| 14 | 0.600 / 20.00 / 0.100 | 0.300 / 19.80 / 0.160 |")


def test_published_records_are_of_the_declared_study():
    """What the docs print is made of these files."""
    root = Path(__file__).parents[2]
    if not (root / plug_in.RESULTS).exists():
        pytest.skip("the study has not been carried out with the settings as they are")
    records = load(root / plug_in.RESULTS, plug_in.SEEDS)
    assert [r["seed"] for r in records] == list(plug_in.SEEDS)
    for r in records:
        assert (r["task"], r["env_kwargs"]) == (plug_in.TASK, plug_in.KWARGS)
        assert (r["core_steps"], r["steps"]) == (plug_in.CORE_STEPS, plug_in.STEPS)
        assert r["core_settings"] == plug_in.CORE
        assert r["episodes"] == plug_in.EPISODES
        assert set(r["policies"]) == set(POLICIES)
        assert r["budget"] == r["policies"]["core"]["oscillation_ratio"] / 2
    docs = (root / "docs" / "results.md").read_text()
    assert table(records) in docs
    assert by_seed(records) in docs


def test_seed_is_carried_out_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(plug_in, "CORE", {**plug_in.CORE, "learning_starts": 100})
    short = {"episodes": 4, "steps": 400, "core_steps": 400}
    first = carry_out(3, tmp_path, **short)
    assert set(first["policies"]) == set(POLICIES)
    assert first["budget"] == first["policies"]["core"]["oscillation_ratio"] / 2
    assert first["cpu_seconds"]["controller"] > 0
    assert first["settings"]["no warm-up"]["config"]["warmup"] == 0
    assert first["settings"]["controller"]["config"]["warmup"] == 20  # a twentieth of 400
    assert {"torch", "stable-baselines3", "jax"} <= set(first["versions"])
    json.dumps(first, allow_nan=False)
    core = tmp_path / "seed-3" / "core.zip"
    assert zipfile.is_zipfile(core)
    written = core.stat().st_mtime_ns
    again = carry_out(3, tmp_path, **short)  # all runs are there: only measured once more
    assert core.stat().st_mtime_ns == written
    assert again["policies"] == first["policies"]
    assert again["seconds"] == {}  # how long it took is known no more
