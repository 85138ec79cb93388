"""What `state.json` of a checkpoint holds: everything of a run that is not an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.errors import InputError, refuse_outside


@dataclass(frozen=True)
class SessionState:
    """The numbers of a session."""

    step: int
    updates: int
    added: int
    """Transitions that were ever added to the replay buffer."""
    recent: list[tuple[float, int]]
    """Return and length of the last training episodes."""
    losses: dict[str, float | None]
    act_rng: dict[str, Any]
    replay_rng: dict[str, Any]

    def __post_init__(self) -> None:
        refuse_outside(self, 0, None, "step", "updates", "added")


@dataclass(frozen=True)
class RunState(SessionState):
    """The numbers of a run: its session's, its best evaluation and its log."""

    best: float | None
    """Return of the best evaluation."""
    next_eval: int
    metrics_size: int
    """Bytes of `metrics.jsonl`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_outside(self, 0, None, "next_eval", "metrics_size")


def restore_generator(rng: np.random.Generator, state: dict[str, Any], where: object) -> None:
    """Return a PCG64 generator to a saved state.

    Args:
        rng: The generator.
        state: What its `bit_generator.state` was, from JSON.
        where: The file, for error messages.

    Raises:
        InputError: It is no such state.
    """
    bits = {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}
    inner = state.get("state")
    numbers = {**state, **inner} if isinstance(inner, dict) else {}
    if (
        state.keys() != {"bit_generator", "state", "has_uint32", "uinteger"}
        or numbers.keys() != {"bit_generator", *bits}
        or state["bit_generator"] != "PCG64"
        or not all(_is_word(numbers[name], size) for name, size in bits.items())
        or numbers["inc"] % 2 == 0  # with an even increment it would soon repeat itself
    ):
        raise InputError(
            f"{where} holds the state of a random generator that cannot be one: the file is "
            "damaged, so start the run again with another --out"
        )
    rng.bit_generator.state = state


def _is_word(value: Any, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**bits
