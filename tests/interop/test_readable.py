"""The table of what is read."""

from pathlib import Path

from policy_inertia.interop.readable import readable_table

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"


def test_page_holds_the_table_of_the_code() -> None:
    assert readable_table() in PAGE.read_text(), f"put this into {PAGE.name}:\n{readable_table()}"
