"""What `smooth` measures around a core that does not depend on the budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Measured:
    """Keeps the core's figures, those of random actions, the calibrations and the controllers.

    Give one to several calls of `smooth` that differ in their budget alone.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}

    def once(self, key: Hashable, measure: Callable[[], T]) -> T:
        """The result under this key; it is measured if there is none yet."""
        if key not in self._results:
            self._results[key] = measure()
        result: T = self._results[key]
        return result
