"""Time one update and one predict of the dial, beside the controller without prices.

The methods take turns in one process on one core, and the best turn of each counts, so a slow
minute of the machine slows all alike. `python benchmarks/dial.py` prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from learner import HERE, time_predict, time_update  # this import limits JAX to one thread

PAIRS = (("dial-sac", "nsac"), ("dial-dqn", "ndqn"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds over all methods; the best one counts"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / "dial.json")
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    methods = [method for pair in PAIRS for method in pair]
    update = dict.fromkeys(methods, float("inf"))
    predict = dict.fromkeys(methods, float("inf"))
    for _ in range(args.rounds):
        for method in methods:
            update[method] = min(update[method], time_update(method)["us"])
            predict[method] = min(predict[method], time_predict(method)["median_us"])
    figures = {"update_us": update, "predict_us": predict}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(figures, indent=1) + "\n")
    print("| | update, µs | ratio (goal <= 1.5) | predict, µs | ratio (goal <= 1) |")
    print("|---|---|---|---|---|")
    for dial, base in PAIRS:
        print(f"| {base} | {update[base]:.0f} | | {predict[base]:.1f} | |")
        print(
            f"| {dial} | {update[dial]:.0f} | {update[dial] / update[base]:.2f} "
            f"| {predict[dial]:.1f} | {predict[dial] / predict[base]:.2f} |"
        )


if __name__ == "__main__":
    main()
