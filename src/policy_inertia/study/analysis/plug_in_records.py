"""Records of the plug-in study: policies around a core, compared with that core.

A record belongs to one seed. Its "policies" hold the figures of the core and of every policy around
it, on the same episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.metrics.measures import CRASHES, OSCILLATION, RETURN, refuse_incomplete
from policy_inertia.schema import parse_object, read_as
from policy_inertia.storage import LARGEST_JSON, read_file
from policy_inertia.study.analysis.statistics import Estimate, mean_and_t_interval

Records = Sequence[dict[str, Any]]
CORE = "core"
REPORTED = (OSCILLATION, RETURN, CRASHES)


@dataclass(frozen=True)
class PolicyEstimates:
    """One policy over seeds: its figures, and their change from its own core (None for the core).

    The oscillation ratio is divided by the core's, the return changes by a share of the core's,
    and the crash rate changes by a difference.
    """

    policy: str
    figures: dict[str, Estimate]
    changes: dict[str, Estimate] | None


def read_plug_in(folder: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Read the records of these seeds."""
    return [_read_seed(folder / f"seed-{seed}.json") for seed in seeds]


def _read_seed(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(f"there is no {path}: run this seed of the plug-in study first")
    record = parse_object(read_file(path, LARGEST_JSON), path, "a record of the plug-in study")
    policies = read_as(dict[str, dict[str, Any]], record.get("policies"), path)
    for figures in policies.values():
        refuse_incomplete(figures, f"a policy in {path}", REPORTED)
    if CORE not in policies:
        raise InputError(f"{path} has no figures of the core: run this seed of the study again")
    return record


def values(records: Records, policy: str, figure: str) -> np.ndarray:
    """Return one number for each seed."""
    return np.array([r["policies"][policy][figure] for r in records], float)


def change_from_core(records: Records, policy: str, figure: str, relative: bool) -> np.ndarray:
    """Return, for each seed, the difference from the policy's own core; `relative` divides it."""
    core, own = values(records, CORE, figure), values(records, policy, figure)
    return own / core - 1 if relative else own - core


def estimate_policies(records: Records) -> list[PolicyEstimates]:
    """Estimate every policy of the records: plain means over seeds, so that a bad seed counts.

    Raises:
        InputError: there is no record.
    """
    if not records:
        raise InputError("there is no record to make a table of: carry out at least one seed")
    rows = []
    for policy in records[0]["policies"]:
        figures = {m.name: mean_and_t_interval(values(records, policy, m.name)) for m in REPORTED}
        changes = None
        if policy != CORE:
            ratio = 1 + change_from_core(records, policy, OSCILLATION.name, relative=True)
            return_ = change_from_core(records, policy, RETURN.name, relative=True)
            crashes = change_from_core(records, policy, CRASHES.name, relative=False)
            changes = {
                m.name: mean_and_t_interval(numbers)
                for m, numbers in zip(REPORTED, (ratio, return_, crashes), strict=True)
            }
        rows.append(PolicyEstimates(policy, figures, changes))
    return rows
