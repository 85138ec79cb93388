"""The page and the picture of a study around policies of another library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from policy_inertia.drawing.plots import Panel, render
from policy_inertia.files import make_folder, write_file
from policy_inertia.study.core_plan import CoreStudy
from policy_inertia.study.core_records import CoreRecord
from policy_inertia.study.report.filter_page import filter_page, filter_panels
from policy_inertia.study.report.transfer_page import transfer_page, transfer_panels

WIDTH = 3.6  # inches of a panel
Records = Mapping[str, Sequence[CoreRecord]]
"""Records by the title of their cell."""


class View(NamedTuple):
    """How the records of a measurement are shown."""

    page: Callable[[Records], str]
    panels: Callable[[Records], Sequence[Panel]]


VIEWS = {
    "filters": View(filter_page, filter_panels),
    "transfer": View(transfer_page, transfer_panels),
}
"""By the name of the measurement, as in `run.core_job.MEASUREMENTS`."""


def core_page(study: CoreStudy, records: Records) -> str:
    """Return the Markdown tables of a study."""
    return VIEWS[study.cells[0].measured].page(records)


def write_picture(study: CoreStudy, records: Records, folder: Path) -> Path | None:
    """Draw a study to `folder`, and return the file; None if there is nothing to draw."""
    panels = VIEWS[study.cells[0].measured].panels(records)
    if not panels:
        return None
    path = folder / f"{study.name}.png"
    (picture,) = render(panels, kinds=["png"], legend=True, width=WIDTH)
    make_folder(folder)
    write_file(path, picture)
    return path
