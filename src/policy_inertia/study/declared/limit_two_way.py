"""Limits on switching on simple Two-Way, with the learner of LunarLander and more steps.

In `study limit` both aims on simple Two-Way were missed. This second round has wider critics, a
policy that averages them, and half as many steps again. Its settings were chosen with a run of
seed 1. `smallest_rate` is left out: here strict limits are what is asked for. This study is a
family of its own in Holm's correction.
"""

from __future__ import annotations

from dataclasses import replace

from policy_inertia.study.declared.limit import BUDGETS, HORIZON, compared
from policy_inertia.study.declared.limit_lander import CORE, CRITICS, PLANNING
from policy_inertia.study.declared.paper import SIMPLE
from policy_inertia.study.plan import Experiment, Study

_DQN, _LEARNER, _DIAL, _LIMIT = compared(SIMPLE, CORE, {**CRITICS, "core": CORE})
_LIMIT = replace(
    _LIMIT, settings={**_LIMIT.settings, "noise_per_token": PLANNING["noise_per_token"]}
)

STUDY = Study(
    "limit-two-way",
    "Limits on switching that are always kept: simple Two-Way, longer",
    (
        Experiment("limit", "Two-Way with a limit", (_LIMIT,), budgets=BUDGETS, limits=BUDGETS),
        Experiment(
            "learner", "Two-Way without a limit", (_LEARNER,), budgets=BUDGETS, limits=BUDGETS
        ),
        Experiment(
            "rivals", "A DQN, and a dial by price", (_DQN, _DIAL), budgets=BUDGETS, limits=BUDGETS
        ),
    ),
    # 105 to 109 are those of the first round; 115 to 124 are those of LunarLander
    seeds=(125, 126, 127, 128, 129),
    settings={
        "preset": "paper",
        "steps": 600_000,
        "envs": 16,
        "batch_size": 128,
        "gamma": HORIZON,
        "eval_every": 100_000,
        "final_episodes": 200,
        "calibration_episodes": 100,
    },
    about="Greedy actions. Rows in a bucket never exceed the limit that was chosen for them.",
)
