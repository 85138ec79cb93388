"""What `smooth` counts for a kind of actions, and how it says so; one row each."""

from __future__ import annotations

from dataclasses import dataclass

from policy_inertia.metrics.measures import FLUCTUATION, MEASURES, OSCILLATION, Measure


@dataclass(frozen=True)
class Wording:
    """One kind of actions.

    Attributes:
        measure: What a budget bounds.
        does: The verb for it, as in "switches at 0.1".
        per: What follows the number.
        keeps: A limit in words, with its `burst` and `rate`.
        actions: What a policy does where it draws nothing, as a note.
        after: What is said where a policy without training is good enough; empty for nothing.
        details: Further measures that tell how bad a policy is.
    """

    measure: Measure
    does: str
    per: str
    keeps: str
    actions: str
    after: str = ""
    details: tuple[Measure, ...] = ()


SWITCHING = Wording(
    OSCILLATION,
    "switches at",
    " of the steps",
    "makes at most {burst:g} + {rate:g} n switches in n steps, always",
    "with greedy actions",
    "Nothing was trained. --train trains a controller nevertheless.",
)
HEADS = SWITCHING
MOVEMENT = Wording(
    FLUCTUATION,
    "moves by",
    " of its range per step",
    "moves by at most {burst:g} + {rate:g} n of its range in n steps, always",
    "without noise",
    SWITCHING.after,
    details=tuple(
        MEASURES[name]
        for name in ("action_fluctuation", "sign_reversals", "jerk", "caps_smoothness")
    ),
)
