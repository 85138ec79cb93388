import re
from pathlib import Path

from policy_inertia.tabular import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(code, {})


def test_the_table_of_the_page_lists_every_check() -> None:
    (table,) = re.findall(r"```\nstatement +episodes.*?\n(.*?)```", PAGE, re.S)
    rows = [re.split(r" {2,}", line.lstrip())[:2] for line in table.splitlines()]
    assert rows == [[check.statement.strip(), check.kind] for check in CHECKS]


def test_no_statement_with_a_proof_fails_in_the_table_of_the_page() -> None:
    (table,) = re.findall(r"```\nstatement +episodes.*?\n(.*?)```", PAGE, re.S)
    for check, line in zip(CHECKS, table.splitlines(), strict=True):
        failed = re.search(r" {2,}\d+ {2}\de[+-]\d\d$", line)
        assert not (failed and check.proved), line
