"""Time the SAC of Stable-Baselines3 or SBX on one env and one thread, as control.py times ours.

The last line printed is a JSON object with the steps per second of the processor.
"""

import argparse
import json
import time
from importlib import import_module
from typing import Any

from peers import one_thread

WARM_UP, LEARNING_STARTS = 1_300, 1_000
PEERS = {"sb3-sac": "stable_baselines3", "sbx-sac": "sbx"}


def speed(sac: Any, env: str, seconds: float) -> dict[str, float]:
    """Train after a warm-up that compiles everything, until `seconds` of the processor are over."""
    model = sac(
        "MlpPolicy",
        env,
        learning_rate=3e-4,
        buffer_size=1_000_000,
        learning_starts=LEARNING_STARTS,
        batch_size=256,
        tau=0.005,
        gamma=0.99,
        train_freq=1,
        gradient_steps=1,
        policy_kwargs={"net_arch": [256, 256]},
        seed=0,
        device="cpu",
    )
    first: list[tuple[float, int, int]] = []
    last: list[tuple[float, int, int]] = []

    def tick(*_: Any) -> bool:
        if model.num_timesteps < WARM_UP:
            return True
        now = (time.process_time(), model.num_timesteps, model._n_updates)
        first[:] = first or [now]
        last[:] = [now]
        return now[0] - first[0][0] < seconds

    model.learn(total_timesteps=10**9, callback=tick, log_interval=None)  # the callback stops it
    elapsed, steps, updates = (b - a for a, b in zip(first[0], last[0], strict=True))
    return {"steps_per_second": steps / elapsed, "updates_per_step": updates / steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=[*PEERS])
    parser.add_argument("env")
    parser.add_argument("seconds", type=float)
    args = parser.parse_args()
    one_thread()
    library = import_module(PEERS[args.peer])
    print(json.dumps(speed(library.SAC, args.env, args.seconds)))


if __name__ == "__main__":
    main()
