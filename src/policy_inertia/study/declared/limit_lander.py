"""Limits on switching on LunarLander, where rare rewards are a hundred times the usual ones.

The lines, budgets and ways to keep a limit are those of `study limit`. The settings were chosen
with runs of seeds 1 and 2 (105 and 106 were looked at too), and by what an earlier round showed
(docs/limits-lander.md). This study is a family of its own in Holm's correction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policy_inertia.study.declared.limit import BUDGETS, compared
from policy_inertia.study.plan import Experiment, Line, Study, Task

LUNAR_LANDER = Task("LunarLander", "LunarLander-v3")
LEARNER: dict[str, Any] = {
    "hidden": (128, 128),
    "learning_rate": 6e-4,
    "train_interval": 1,
    "huber": 5.0,
    "averaged": 0.05,
}
"""The learner of all lines: of the critics of a controller, and of a DQN alone."""
CRITICS: dict[str, Any] = {**LEARNER, "target_rate": 0.005}
PLANNING: dict[str, Any] = {"smallest_rate": 0.05, "noise_per_token": 0.3}
"""What else there is to set for a controller that plans with limits."""
CORE: dict[str, Any] = {
    **LEARNER,
    "target_period": 500,
    "exploration": 0.12,
    "epsilon_final": 0.05,
    "longest_hold": 50,
    "double": True,
    "scaled": True,
}

_DQN, _LEARNER, _DIAL, _LIMIT = compared(LUNAR_LANDER, CORE, {**CRITICS, "core": CORE})
_LIMIT = replace(_LIMIT, settings={**_LIMIT.settings, **PLANNING})


def _experiment(name: str, title: str, *lines: Line) -> Experiment:
    return Experiment(name, title, lines, budgets=BUDGETS, limits=BUDGETS)


STUDY = Study(
    "limit-lander",
    "Limits on switching that are always kept: LunarLander",
    (
        _experiment("learner", "LunarLander with a limit and without one", _LEARNER, _LIMIT),
        _experiment("rivals", "LunarLander: a DQN, and a dial by price", _DQN, _DIAL),
    ),
    # 105 and 106 were looked at in design, and 115 to 119 are those of the earlier round
    seeds=(120, 121, 122, 123, 124),
    settings={
        "preset": "paper",
        "steps": 300_000,
        "envs": 16,
        "batch_size": 128,
        "gamma": 0.99,
        "eval_every": 100_000,
        "eval_episodes": 10,
        "final_episodes": 100,
        "calibration_episodes": 25,
    },
    about="Greedy actions. Rows in a bucket never exceed the limit that was chosen for them.",
    limits_by="mean",  # the rule when the first runs of this study were evaluated
)
