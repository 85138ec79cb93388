"""The best rows of a calibration: those that no other row beats in both return and oscillation."""

from __future__ import annotations

from policy_inertia.metrics.calibration_table import Calibration, Row
from policy_inertia.metrics.measures import RETURN


def frontier(table: Calibration) -> list[Row]:
    """Return the rows without a rival that switches no more and returns more, as in the table.

    Of rows that are equal in both, only the first is returned.
    """
    best: list[Row] = []
    for row in sorted(table.rows, key=lambda row: (row.oscillation_ratio, -_return(row))):
        if not best or _return(row) > _return(best[-1]):
            best.append(row)
    return [row for row in table.rows if any(row is one for one in best)]


def best_rows(table: Calibration, most: int) -> list[Row]:
    """Return the loosest setting, and up to `most` rows of the frontier.

    The one with the highest return is among them; the others are spread evenly.
    """
    rows = frontier(table)
    top = max(range(len(rows)), key=lambda i: _return(rows[i]))
    step = max(1, -(-(len(rows) - 1) // max(1, most - 1)))
    shown = [row for i, row in enumerate(rows) if i == top or (i - top) % step == 0]
    loosest = table.rows[0]
    return shown if any(row is loosest for row in shown) else [loosest, *shown]


def _return(row: Row) -> float:
    value = row.figures[RETURN.name]
    assert value is not None, "every evaluation has a return"
    return value
