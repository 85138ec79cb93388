"""What a measure that counts steps is called in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class InSeconds:
    """What a measure that counts steps is called where the time of a step is known.

    Attributes:
        name: Key in files and dicts.
        label: Heading in tables and plots.
        unit: What the number counts.
        power: 1 for a number of steps, -1 for a number per step, -3 per step cubed.
        format: How tables print the number.
    """

    name: str
    label: str
    unit: str
    power: Literal[1, -1, -3]
    format: str = "{:.3f}"
