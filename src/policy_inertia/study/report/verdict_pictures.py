"""The pictures beside a paper's verdict: learning curves in two forms, and mu over training."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jax import numpy as jnp

from policy_inertia.algorithms.losses import best_inertia
from policy_inertia.drawing.palette import colour
from policy_inertia.drawing.plots import Line, Panel, render
from policy_inertia.metrics.measures import MU
from policy_inertia.study.analysis.learning_curves import EVALUATION
from policy_inertia.study.report.figures import curves
from policy_inertia.study.report.inertia_tables import FIT, GRADIENT, Tasks
from policy_inertia.study.results import ExperimentResults

WIDTH = 3.4  # inches of a panel
KEY = EVALUATION + MU.name


def curve_pictures(
    study: str, experiments: Sequence[tuple[ExperimentResults, str]]
) -> dict[str, bytes]:
    """Return a PNG for each task by the name of its file, from tasks with a finished run.

    Two panels have the paper's form (mean, half a standard deviation), two have ours (mean,
    t-interval).
    """
    pictures = {}
    for experiment, task in experiments:
        if not experiment.of_task(task):
            continue
        forms = [curves(experiment, task, statistic) for statistic in ("paper", "mean")]
        panels = [replace(p, label_ends=False) for form in forms for p in form.panels]
        seeds = forms[0].caption.rpartition(", ")[2]
        title = (
            f"{task}: left two mean and half a standard deviation, as in the paper; right two mean "
            f"and 95% t-interval; {seeds}"
        )
        pictures[f"{study}-{_slug(task)}.png"] = _png(panels, title)
    return pictures


def mu_picture(study: str, tasks: Tasks) -> dict[str, bytes]:
    """Return a PNG of the mean mu at each evaluation: a line for every seed of both NSACs."""
    panels = []
    for task, lines in tasks.items():
        shown = [
            Line(label, colour(i), [r["step"] for r in known], [r[KEY] for r in known])
            for i, label in enumerate((GRADIENT, FIT))
            if label in lines
            for run in lines[label].curves
            if (known := [r for r in run if KEY in r])
        ]
        if shown:
            panels.append(
                Panel(task, "mean μ", shown, label_ends=False, time=True, y_limits=(-0.02, 1.02))
            )
    title = "Mean μ in evaluations over training, a line for every seed"
    return {f"{study}-mu.png": _png(panels, title)} if panels else {}


def tie_picture(study: str, actions: int = 5, alpha: float = 0.01) -> dict[str, bytes]:
    """Return a PNG of the best mu by how much better it is to repeat, for several cores.

    Equation of `losses.best_inertia`: Q is the same for all actions but the last one, which is
    better or worse; the core gives the last action the probability p and spreads the rest evenly.
    """
    gains = np.linspace(-6, 6, 121)
    lines = []
    for i, p in enumerate((0.05, 1 / actions, 0.5, 0.9)):
        core = np.full(actions, (1 - p) / (actions - 1))
        core[0] = p
        q = np.zeros((len(gains), actions))
        q[:, 0] = alpha * gains
        log_pi = jnp.asarray(np.tile(np.log(core), (len(gains), 1)))
        mu, _ = best_inertia(jnp.asarray(q), log_pi, jnp.zeros(len(gains), int), alpha)
        lines.append(Line(f"core repeats with p = {p:g}", colour(i), gains, np.asarray(mu)))
    mu = np.linspace(0, 1, 101)
    factor = [
        Line("the gradient by the network's output has this factor", colour(6), mu, mu * (1 - mu))
    ]
    panels = [
        Panel("advantage of repeating, in units of α", "best μ", lines, label_ends=False),
        Panel("μ", "μ (1 − μ)", factor, label_ends=False),
    ]
    title = f"The best μ of {actions} actions under the mixed policy's entropy bonus"
    return {f"{study}-ties.png": _png(panels, title)}


def _png(panels: Sequence[Panel], title: str) -> bytes:
    return render(panels, title, ["png"], legend=True, width=WIDTH)[0]


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")
