"""What a core gains over random actions: the unit of every loss."""

from __future__ import annotations

from collections.abc import Sequence

from policy_inertia.metrics.measures import RETURN
from policy_inertia.study.core_records import CoreRecord


def gain(record: CoreRecord) -> float:
    """Return the core's return minus that of random actions."""
    return record.figures["core"][RETURN.name] - record.figures["random"][RETURN.name]


def better_than_random(records: Sequence[CoreRecord]) -> list[CoreRecord]:
    """Return the records whose core is better than random actions."""
    return [record for record in records if gain(record) > 0]
