"""A policy of Stable-Baselines3 before and after smoothing, in one moving picture.

A DQN of Stable-Baselines3 on Two-Way and the same DQN with a controller drive from the same start.

    pip install 'policy-inertia[highway,sb3]'
    python examples/before_and_after.py --out before-and-after.gif
"""

from dataclasses import dataclass, replace
from pathlib import Path

import tyro

import policy_inertia as pi
from policy_inertia.drawing.video import write
from policy_inertia.evaluation.recording import record
from policy_inertia.study.declared.transfer import STEPS, STUDY
from policy_inertia.study.run.core_training import train_core

(CELL,) = STUDY.only(["dqn-two-way"]).cells
TASK, KWARGS = CELL.core.env, CELL.core.env_kwargs


@dataclass(frozen=True)
class Options:
    out: Path = Path("before-and-after.gif")
    core_steps: int = CELL.core.steps
    """Steps of the DQN."""
    steps: int = STEPS
    """Steps of the controller."""
    episodes: int = 100
    """Episodes on which the two are compared."""
    seed: int = 33
    """Seed of the training runs."""
    start: int = 2
    """Seed of the episode."""


def main(options: Options) -> None:
    core = Path("runs") / "before-and-after" / "core.zip"
    if not core.exists():
        train_core(replace(CELL.core, steps=options.core_steps), core, options.seed)
    result = pi.smooth(
        core,
        TASK,
        steps=options.steps,
        episodes=options.episodes,
        seed=options.seed,
        out=core.parent / "smooth",
        resume=True,
        train=True,
        env_kwargs=KWARGS,
    )
    print(result)
    before, after = (
        record(
            result.candidates[name].policy,
            TASK,
            1,
            options.start,
            deterministic=True,
            label=label,
            env_kwargs=KWARGS,
        )[0]
        for name, label in (("core", "DQN"), ("controller", "DQN, smoothed"))
    )
    write([after], options.out, speed=5, others=[before])
    print(f"wrote {options.out}: {before.switches} switches before, {after.switches} after")


if __name__ == "__main__":
    main(tyro.cli(Options))
