"""The plug-in study's numbers and tables, compared with numbers worked out by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.study.analysis.plug_in_records import (
    change_from_core,
    estimate_policies,
    read_plug_in,
    values,
)
from policy_inertia.study.report.markdown import plug_in_by_seed, plug_in_table

POLICIES = ("core", "hysteresis", "controller", "no warm-up")


def record(seed: int, oscillation: float, return_: float, crashes: float) -> dict[str, Any]:
    """A core at 0.6, 20 and 0.1, and every other policy at the given figures."""
    names = ("oscillation_ratio", "return", "crash_rate")
    core = dict(zip(names, (0.6, 20.0, 0.1), strict=True))
    other = dict(zip(names, (oscillation, return_, crashes), strict=True))
    return {"seed": seed, "policies": {p: core if p == "core" else other for p in POLICIES}}


RECORDS = [
    record(10, 0.30, 20.0, 0.10),
    record(11, 0.24, 19.0, 0.05),
    record(12, 0.36, 21.0, 0.15),
    record(13, 0.30, 20.4, 0.10),
    record(14, 0.30, 19.8, 0.16),
]


def test_policies_are_compared_with_their_own_cores() -> None:
    ratio = change_from_core(RECORDS, "controller", "oscillation_ratio", relative=True)
    np.testing.assert_allclose(ratio, [-0.5, -0.6, -0.4, -0.5, -0.5])
    change = change_from_core(RECORDS, "controller", "return", relative=True)
    np.testing.assert_allclose(change, [0, -0.05, 0.05, 0.02, -0.01])
    crashes = change_from_core(RECORDS, "controller", "crash_rate", relative=False)
    np.testing.assert_allclose(crashes, [0, -0.05, 0.05, 0, 0.06])
    np.testing.assert_array_equal(values(RECORDS, "core", "return"), np.full(5, 20.0))


def test_the_table_shows_plain_means_over_seeds_with_students_interval() -> None:
    table = plug_in_table(estimate_policies(RECORDS))
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in table.split("\n")[2:]]
    assert [row[0] for row in rows] == list(POLICIES)
    assert rows[0][1:] == ["0.600 ± 0.000", "20.00 ± 0.00", "0.100 ± 0.000", "", "", ""]
    # with t = 2.776 and five seeds: 1.2415 times the standard deviation, which is 0.74 for returns
    assert rows[2][1:] == [
        "0.300 ± 0.053",
        "20.04 ± 0.92",
        "0.112 ± 0.055",
        "0.50 ± 0.09",
        "+0.2% ± 4.6%",
        "+0.0120 ± 0.0551",
    ]


def test_one_seed_has_no_interval_and_no_seed_is_refused() -> None:
    single = plug_in_table(estimate_policies(RECORDS[:1])).split("\n")[4]
    assert "20.00 |" in single
    assert "±" not in single
    with pytest.raises(InputError, match="at least one seed"):
        estimate_policies([])


def test_every_seed_has_a_line_of_its_own() -> None:
    last = plug_in_by_seed(RECORDS).split("\n")[-1]
    assert last.startswith("| 14 | 0.600 / 20.00 / 0.100 | 0.300 / 19.80 / 0.160 |")


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no .*seed-7\.json: run this seed"):
        read_plug_in(tmp_path, [7])
