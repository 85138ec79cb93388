"""The paper's experiments as data, and hysteresis filters as a further baseline.

The paper does not give the number of training steps on Highway. DQN's exploration ends after
360,000 steps (from 1 to 0.1 by 5e-6, one update for every second transition), so we use 400,000.
"""

from __future__ import annotations

from policy_inertia.study.plan import Experiment, Line, Study, Task

HIGHWAY = {
    "Lane Change": Task("Lane Change", "policy_inertia/LaneChange-v0"),
    "Merge": Task("Merge", "policy_inertia/Merge-v0"),
    "Intersection": Task("Intersection", "policy_inertia/Intersection-v0"),
    "Two-Way": Task("Two-Way", "policy_inertia/TwoWay-v0"),
}
INTERSECTION, TWO_WAY = HIGHWAY["Intersection"], HIGHWAY["Two-Way"]  # the complex Two-Way
SIMPLE = Task(
    "Two-Way, simple",
    "policy_inertia/TwoWay-v0",
    {"env_kwargs": {"config": {"scenario": "simple"}}},
)
ATARI_GAMES = tuple(
    # the paper does not give the number of steps; a step is an agent's step of four frames
    Task(name, f"policy_inertia/{name}-v0", {"steps": 1_000_000, "envs": 8})
    for name in ("SpaceInvaders", "MsPacman", "Qbert", "JamesBond")
)
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
BASE = ("dqn", "sac", "nsac")
CLOSED_FORM = {"improvement": "closed-form"}
"""NSAC's inertia is fitted to its best value; the paper follows a gradient, which can vanish."""


def _lines(tasks: tuple[Task, ...], *methods: str) -> tuple[Line, ...]:
    return tuple(Line(m.upper(), m, task) for task in tasks for m in methods)


def _closed_form(*tasks: Task) -> tuple[Line, ...]:
    return tuple(Line("NSAC, closed form", "nsac", task, CLOSED_FORM) for task in tasks)


def _sweep(task: Task, setting: str, symbol: str, *values: float) -> tuple[Line, ...]:
    return tuple(Line(f"{symbol} = {v:g}", "nsac", task, {setting: v}) for v in values)


STUDY = Study(
    "paper",
    "Addressing Action Oscillations through Learning Policy Inertia: the experiments",
    (
        Experiment(
            "base",
            "NSAC, SAC and DQN on four Highway tasks",
            (*_lines(tuple(HIGHWAY.values()), *BASE), *_closed_form(*HIGHWAY.values())),
            "Figure base_results. Besides the paper's methods: DQN and SAC with a hysteresis "
            "filter, which needs no learning and has one threshold, and NSAC whose inertia is "
            "fitted to the closed form of its best value.",
            hysteresis=THRESHOLDS,
        ),
        Experiment(
            "action-repetition",
            "Compared with choosing how long to hold an action",
            _lines((INTERSECTION, TWO_WAY), *BASE, "dqn-repeat", "sac-repeat"),
            "Figures repeat_intersection and repeat_two-way: a method may hold an action for 1, 2, "
            "4 or 8 steps.",
        ),
        Experiment(
            "reward-penalty",
            "Compared with a penalty of 0.05 on every switch",
            _lines((INTERSECTION, TWO_WAY), *BASE, "dqn-ip", "sac-ip", "nsac-ip"),
            "Figures penalty_intersection and penalty_two-way: trained with the penalty, evaluated "
            "without it.",
        ),
        Experiment(
            "scenarios",
            "Simple and complex Two-Way",
            (*_lines((SIMPLE, TWO_WAY), *BASE), *_closed_form(SIMPLE, TWO_WAY)),
            "Figures simple_scenario and complex_scenario; the complex one has twice the vehicles, "
            "in a longer column.",
            hysteresis=THRESHOLDS,
        ),
        Experiment(
            "mu0",
            "The lower bound of the inertia",
            _sweep(TWO_WAY, "mu0", "mu0", 0.0, 0.1, 0.3, 0.5),
            "Figure complex_p0. The paper does not give its values; these are ours.",
            ablation=True,
        ),
        Experiment(
            "alpha",
            "The temperature of the mixed policy",
            _sweep(TWO_WAY, "temperature", "alpha", 1e-4, 1e-3, 0.01, 0.1),
            "Figure almi. The paper does not give its values; these lie around its 0.01.",
            ablation=True,
        ),
        Experiment(
            "atari",
            "NSAC, SAC and DQN on four Atari games",
            _lines(ATARI_GAMES, *BASE),
            "Figure base_results, its second row. Days of a processor core: it runs only if "
            "--only names it.",
            on_request=True,
        ),
    ),
    seeds=(100, 101, 102, 103, 104),  # all settings were chosen on seeds below 100
    settings={"preset": "paper", "steps": 400_000, "envs": 16},
    about="Sampled actions, 20 episodes every 5,000 steps, five seeds, as in the paper.",
)
