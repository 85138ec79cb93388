"""Write the page on a paper's claims to a folder of docs."""

from __future__ import annotations

from pathlib import Path

from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.storage import read_page
from policy_inertia.study.report.verdict_page import END, START, VerdictPage

OVERVIEW, IMAGES = "results.md", "images"


def write_page(page: VerdictPage, folder: Path) -> None:
    """Write the page and its pictures, and put its first table into the overview.

    A folder without an overview gets none.

    Raises:
        InputError: The overview has no place for the table.
    """
    overview = folder / OVERVIEW
    wanted = page.overview and overview.exists()
    filled = with_table(read_page(overview), page.table) if wanted else None
    make_folder(folder / IMAGES)
    write_file(folder / page.file, page.text.encode())
    for name, data in page.pictures.items():
        write_file(folder / IMAGES / name, data)
    if filled is not None:
        write_file(overview, filled.encode())


def with_table(text: str, table: str) -> str:
    """Return the text of the overview with this table in its place."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise InputError(f"{OVERVIEW} has no place for the table: put it between {START} and {END}")
    return f"{before}{START}\n\n{table}\n\n{END}{after}"
