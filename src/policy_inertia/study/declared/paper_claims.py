"""What the paper says of its experiments, claim by claim, for `policy-inertia verdict`."""

from __future__ import annotations

from pathlib import Path

from policy_inertia.metrics.measures import MU, OSCILLATION, RETURN, Measure
from policy_inertia.study.analysis.claims import Cell, Claim, Condition, Side, Wanted
from policy_inertia.study.declared.paper import (
    ATARI_GAMES,
    HIGHWAY,
    INTERSECTION,
    SIMPLE,
    STUDY,
    TWO_WAY,
)
from policy_inertia.study.report.inertia_tables import FIT
from policy_inertia.study.report.verdict_page import Introduction, VerdictPage, verdict_page
from policy_inertia.study.run_records import Records, recorded_results

BOTH = (INTERSECTION.name, TWO_WAY.name)  # where the paper shows repetition and penalties
LARGEST_ALPHA, SMALLER_ALPHAS = "alpha = 0.1", ("alpha = 0.0001", "alpha = 0.001", "alpha = 0.01")


def _condition(
    measure: Measure, wanted: Wanted, experiment: str, task: str, ours: str, theirs: str, about: str
) -> Condition:
    return Condition(
        measure, wanted, Side(experiment, task, ours), Side(experiment, task, theirs), about
    )


def smoother(
    experiment: str, tasks: tuple[str, ...], rival: str, ours: str = "NSAC"
) -> tuple[Cell, ...]:
    """NSAC against a rival: less oscillation, and the return is kept."""
    about = f"{ours} − {rival}"
    return tuple(
        Cell(
            task,
            (
                _condition(OSCILLATION, "lower", experiment, task, ours, rival, about),
                _condition(RETURN, "kept", experiment, task, ours, rival, about),
            ),
        )
        for task in tasks
    )


def _larger_reduction(rival: str) -> Cell:
    """NSAC minus a rival on complex Two-Way, minus the same on simple Two-Way."""
    ours, theirs, ours_simple, theirs_simple = (
        Side("scenarios", task.name, label)
        for task in (TWO_WAY, SIMPLE)
        for label in ("NSAC", rival)
    )
    about, pair = "reduction, complex − simple", (ours_simple, theirs_simple)
    condition = Condition(OSCILLATION, "lower", ours, theirs, about, pair)
    return Cell(f"against {rival}", (condition,))


def _repetition(task: str, core: str) -> Cell:
    """Repetition against its own core in oscillation, and against NSAC in return."""
    name, repeat = "action-repetition", f"{core}-REPEAT"
    return Cell(
        f"{repeat} on {task}",
        (
            _condition(OSCILLATION, "lower", name, task, repeat, core, "repetition − none"),
            _condition(RETURN, "lower", name, task, repeat, "NSAC", "repetition − NSAC"),
        ),
    )


def _penalties(task: str, wanted: Wanted) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            method,
            (
                _condition(
                    OSCILLATION,
                    wanted,
                    "reward-penalty",
                    task,
                    f"{method}-IP",
                    method,
                    "penalty − none",
                ),
            ),
        )
        for method in ("DQN", "SAC", "NSAC")
    )


def _bound(size: str, wanted: Wanted) -> Cell:
    about = f"{size} − none"
    return Cell(
        size,
        (
            _condition(OSCILLATION, "lower", "mu0", TWO_WAY.name, size, "mu0 = 0", about),
            _condition(RETURN, wanted, "mu0", TWO_WAY.name, size, "mu0 = 0", about),
        ),
    )


def _temperature(label: str) -> Cell:
    about = "smaller − largest alpha"
    wanted: tuple[tuple[Measure, Wanted], ...] = (
        (MU, "higher"),
        (OSCILLATION, "lower"),
        (RETURN, "higher"),
    )
    return Cell(
        label,
        tuple(
            _condition(measure, sign, "alpha", TWO_WAY.name, label, LARGEST_ALPHA, about)
            for measure, sign in wanted
        ),
    )


CLAIMS = (
    *(
        Claim(
            f"NSAC oscillates less than {rival} on the four Highway tasks, at comparable return",
            "Figure base_results (a) to (d)",
            smoother("base", tuple(HIGHWAY), rival),
            inertia="NSAC",
        )
        for rival in ("SAC", "DQN")
    ),
    *(
        Claim(
            f"NSAC oscillates less than {rival} on four Atari games, at comparable return",
            "Figure base_results (e) to (h)",
            smoother("atari", tuple(game.name for game in ATARI_GAMES), rival),
            inertia="NSAC",
        )
        for rival in ("SAC", "DQN")
    ),
    Claim(
        "Action repetition reduces oscillation, and costs return compared with NSAC",
        "Figures repeat_intersection and repeat_two-way",
        tuple(_repetition(task, core) for task in BOTH for core in ("DQN", "SAC")),
    ),
    Claim(
        "A penalty on switches reduces oscillation on Two-Way",
        "Figure penalty_two-way",
        _penalties(TWO_WAY.name, "lower"),
    ),
    Claim(
        "The same penalty is counterproductive on Intersection: oscillation rises",
        "Figure penalty_intersection",
        _penalties(INTERSECTION.name, "higher"),
    ),
    Claim(
        "NSAC reduces oscillation more on complex than on simple Two-Way",
        "Figures simple_scenario and complex_scenario",
        tuple(_larger_reduction(rival) for rival in ("SAC", "DQN")),
        inertia="NSAC",
    ),
    Claim(
        "A small lower bound of mu reduces oscillation at no cost in return",
        "Figure complex_p0",
        (_bound("mu0 = 0.1", "kept"),),
    ),
    Claim(
        "A large lower bound of mu reduces oscillation and costs return",
        "Figure complex_p0",
        (_bound("mu0 = 0.5", "lower"),),
    ),
    Claim(
        "A smaller temperature alpha of the mixed policy gives a larger mu, less oscillation and "
        "more return",
        "Figure almi",
        tuple(_temperature(label) for label in SMALLER_ALPHAS),
    ),
)
"""In the order of the paper. Our reading of each is its cells; the page shows them."""

FIT_CLAIMS = tuple(
    Claim(
        f"NSAC by the closed form oscillates less than {rival} on the four Highway tasks, at "
        "comparable return",
        "not in the paper",
        smoother("base", tuple(HIGHWAY), rival, FIT),
        inertia=FIT,
    )
    for rival in ("SAC", "DQN")
)
"""The paper's first claims, of NSAC whose inertia is fitted to the closed form."""
INERTIA = (*(("base", task) for task in HIGHWAY), ("scenarios", SIMPLE.name))
"""Where both ways to learn the inertia are run."""
INTRODUCTION = Introduction(
    "The paper's claims",
    "policy-inertia verdict",
    "this page, its pictures, and the table in results.md",
    f"All runs have the paper's settings, {STUDY.settings['steps']:,} steps on Highway, seeds "
    f"{min(STUDY.seeds)} to {max(STUDY.seeds)}, and sampled actions, as the paper evaluates. "
    "What the paper does not state is [our reading](studies.md#the-papers-experiments).",
    ties=True,
    decides=True,
    overview=True,
)


def paper_page(records: Path) -> VerdictPage:
    """Return the page on the paper's claims, from a folder of records."""
    results = recorded_results(STUDY, Records(records))
    return verdict_page(STUDY, INTRODUCTION, CLAIMS, FIT_CLAIMS, results, INERTIA)
