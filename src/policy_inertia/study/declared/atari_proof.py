"""A proof that the Atari half of the paper's study trains: Qbert, one seed, no more.

30,000 agent steps are a thirtieth of what `study paper --only atari` takes, so nothing is claimed
of the methods. Learning starts earlier than in the paper's preset, and the replay is smaller.
"""

from __future__ import annotations

from policy_inertia.study.declared.paper import BASE
from policy_inertia.study.plan import Experiment, Line, Study, Task

QBERT = Task("Qbert", "policy_inertia/Qbert-v0")

STUDY = Study(
    "atari-proof",
    "DQN, SAC and NSAC train on Qbert",
    (
        Experiment(
            "qbert",
            "DQN, SAC and NSAC on Qbert",
            tuple(Line(method.upper(), method, QBERT) for method in BASE),
        ),
    ),
    seeds=(100,),
    settings={
        "preset": "paper",
        "steps": 30_000,
        "envs": 8,
        "learning_starts": 5_000,
        "buffer_size": 30_000,
        "eval_every": 10_000,
        "eval_episodes": 5,
        "final_episodes": 10,
    },
    about="Sampled actions. One seed: no interval, so no conclusion.",
)
