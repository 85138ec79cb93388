"""Time one update and one predict of the methods that plan with limits, beside the dials.

The methods take turns in one process on one core, and the best turn of each counts. The clock is
the processor's time, so other programs disturb little. `python benchmarks/limit.py` prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from learner import HERE, session  # this import limits JAX to one thread

PAIRS = (("limit-dqn", "dial-dqn"), ("limit-sac", "dial-sac"))
UPDATES, PREDICTS = 128, 1_000  # of one turn


def timed_update(method: str) -> Callable[[], float]:
    """Return a function that measures one update, in microseconds."""
    s = session(method, 256)
    while s.step < 2_560:
        s.advance()
    s._due[:] = True

    def measure() -> float:
        start = time.process_time()
        s.learner.update(s._words, s._due, UPDATES)
        return (time.process_time() - start) / UPDATES * 1e6

    return measure


def timed_predict(policy: Any) -> Callable[[], float]:
    """Return a function that measures one `predict` on one observation, in microseconds."""
    import numpy as np

    rows = np.random.default_rng(0).normal(0, 1, (PREDICTS, 4)).astype(np.float32)

    def measure() -> float:
        state, start = None, time.process_time()
        for obs in rows:
            _, state = policy.predict(obs, state, deterministic=True)
        return (time.process_time() - start) / PREDICTS * 1e6

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="turns of each; the best one counts")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "limit.json")
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    turns: dict[str, Callable[[], float]] = {}
    for method in (method for pair in PAIRS for method in pair):
        turns[f"update {method}"] = timed_update(method)
        policy = session(method, 1).policy()
        limited = policy.with_limit(0.1, 2) if method.startswith("limit") else policy
        turns[f"predict {method}"] = timed_predict(limited)
    best = dict.fromkeys(turns, float("inf"))
    for _ in range(args.rounds):
        for name, measure in turns.items():
            best[name] = min(best[name], measure())
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(best, indent=1) + "\n")
    print("| | update, µs | ratio (goal <= 1.1) | predict, µs | ratio (goal <= 1.2) |")
    print("|---|---|---|---|---|")
    for ours, dial in PAIRS:
        figures = [
            text
            for kind in ("update", "predict")
            for text in (
                f"{best[f'{kind} {ours}']:.1f} ({dial}: {best[f'{kind} {dial}']:.1f})",
                f"{best[f'{kind} {ours}'] / best[f'{kind} {dial}']:.2f}",
            )
        ]
        print(f"| {ours} | {' | '.join(figures)} |")


if __name__ == "__main__":
    main()
