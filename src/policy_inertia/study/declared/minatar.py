"""DQN, SAC and NSAC from pixels, on three games of MinAtar.

NSAC is trained in two ways: by the paper's gradient and by the closed form of the best inertia.
Hysteresis filters are the rivals that need no training. The settings are MinAtar's preset, which
was not tuned, so nothing here is the best that a method can do.

Its 60 runs take about 40 CPU hours. On Space Invaders a run of 500,000
steps takes 0.2 hours for DQN, 0.5 for SAC and 1.0 for NSAC, without evaluations; this was measured
with short runs on a busy machine.
"""

from __future__ import annotations

from policy_inertia.study.declared.paper import THRESHOLDS
from policy_inertia.study.plan import Experiment, Line, Study, Task

GAMES = (
    Task("Breakout", "policy_inertia/MinAtar-Breakout-v0"),
    Task("Asterix", "policy_inertia/MinAtar-Asterix-v0"),
    Task("Space Invaders", "policy_inertia/MinAtar-SpaceInvaders-v0"),
)


def _lines(task: Task) -> tuple[Line, ...]:
    return (
        Line("DQN", "dqn", task),
        Line("SAC", "sac", task),
        Line("NSAC", "nsac", task, {"improvement": "gradient"}),
        Line("NSAC, closed form", "nsac", task, {"improvement": "closed-form"}),
    )


STUDY = Study(
    "minatar",
    "DQN, SAC and NSAC from pixels: three games of MinAtar",
    tuple(
        Experiment(
            task.name.lower().replace(" ", "-"),
            task.name,
            _lines(task),
            "Sticky actions of 0.1, no difficulty ramping, episodes of at most 5,000 frames.",
            hysteresis=THRESHOLDS,
        )
        for task in GAMES
    ),
    seeds=(100, 101, 102, 103, 104),
    settings={"steps": 500_000},
    about="Sampled actions, 20 episodes every 25,000 steps, and 50 at the end.",
)
