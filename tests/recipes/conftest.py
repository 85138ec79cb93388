"""The recipes of CONTRIBUTING.md are followed literally."""

from tests.support.recipes import follow  # noqa: F401
