"""The registry of measures: every number that is reported about a set of episodes.

A new measure is one row in `MEASURES`. Evaluation, `metrics.jsonl`, calibration tables, the command
line, a study's CSV and report, and model cards read this registry and no other list of names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.metrics import movement
from policy_inertia.metrics.episodes import Episode, mean
from policy_inertia.metrics.heads import head_ratios
from policy_inertia.metrics.in_seconds import InSeconds

View = Literal["headline", "wide", "list"]
"""Where a measure is shown.

headline: in every table, also in narrow ones.
wide: in tables with one column per measure, such as `policy-inertia evaluate`, and in lists.
list: only in lists with one line per measure: CSV, model card, the report's full list.
"""
VIEWS: tuple[View, ...] = ("headline", "wide", "list")  # from the narrowest


def _no_steps() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True)
class Evaluation:
    """Finished episodes of one policy.

    Attributes:
        episodes: The episodes, in the order of their seeds.
        mu: The controller's inertia at each step that has a previous action; empty without one.
        switch_gap: At the same steps, the probability of a switch: mixed policy minus core.
    """

    episodes: Sequence[Episode]
    mu: np.ndarray = field(default_factory=_no_steps)
    switch_gap: np.ndarray = field(default_factory=_no_steps)

    def summary(self) -> dict[str, Any]:
        """The number of episodes, and every measure by name; None where it is unknown."""
        figures = {name: measure.compute(self) for name, measure in MEASURES.items()}
        return {"episodes": len(self.episodes), **figures}


@dataclass(frozen=True)
class EpisodeMean:
    """A measure that is the mean of one number per episode; episodes without one do not count."""

    value: Callable[[Episode], float | None]

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        return [self.value(episode) for episode in episodes]

    def __call__(self, evaluation: Evaluation) -> float | None:
        values = self.values(evaluation.episodes)
        known = [value for value in values if value is not None]
        return mean(known) if known or not values else None


@dataclass(frozen=True)
class StepMean:
    """A measure that is the mean over the controller's steps; None without a controller."""

    value: Callable[[Evaluation], np.ndarray]

    def __call__(self, evaluation: Evaluation) -> float | None:
        return float(self.value(evaluation).mean()) if len(evaluation.mu) else None


@dataclass(frozen=True)
class Measure:
    """One number that describes a set of episodes.

    Attributes:
        name: Key in files and dicts.
        label: Heading in tables and plots.
        unit: What the number counts; empty for a bare number.
        better: "higher" or "lower"; None if neither is better.
        compute: From an evaluation to the number. None means unknown: the env does not report it,
            or the policy has no controller. NaN means undefined, such as a mean over no episodes.
        format: How tables print the number.
        view: The narrowest kind of table that shows it; see `View`.
        unless: Headline tables leave this measure out where the measure of this name is known.
        of_actions: Whether the actions alone are enough to compute it, without an env.
        in_seconds: What it is called in seconds; None if it does not count steps.
    """

    name: str
    label: str
    unit: str
    better: Literal["higher", "lower"] | None
    compute: Callable[[Evaluation], float | None]
    format: str = "{:.3f}"
    view: View = "wide"
    unless: str = ""
    of_actions: bool = False
    in_seconds: InSeconds | None = None

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def show(self, value: float | None) -> str:
        """The number as text; empty if it is unknown."""
        return "" if value is None else self.format.format(value)

    def values(self, evaluation: Evaluation) -> np.ndarray | None:
        """One number per episode, whose mean is the measure.

        None if the measure is not a mean over episodes, or if an episode lacks the number.
        """
        if not isinstance(self.compute, EpisodeMean):
            return None
        values = self.compute.values(evaluation.episodes)
        return None if None in values else np.array(values, float)

    def at_step_time(self, seconds: float) -> Measure | None:
        """The same measure in seconds, given the time of a step; None if it counts no steps."""
        timed = self.in_seconds
        if timed is None:
            return None
        factor, compute = seconds**timed.power, self.compute

        def scaled(value: float | None) -> float | None:
            return None if value is None else value * factor

        if isinstance(compute, EpisodeMean):
            of_episode = compute.value
            in_time: Any = EpisodeMean(lambda episode: scaled(of_episode(episode)))
        else:
            in_time = lambda evaluation: scaled(compute(evaluation))  # noqa: E731
        return replace(
            self,
            name=timed.name,
            label=timed.label,
            unit=timed.unit,
            compute=in_time,
            format=timed.format,
            in_seconds=None,
        )


def _return_std(evaluation: Evaluation) -> float:
    returns = [episode.return_ for episode in evaluation.episodes]
    return float(np.std(returns)) if returns else float("nan")


def _mean_dwell(evaluation: Evaluation) -> float:
    steps = sum(len(episode) for episode in evaluation.episodes)
    runs = sum(episode.switches + 1 for episode in evaluation.episodes)
    return steps / runs if runs else float("nan")


def _of_movement(value: Callable[[np.ndarray, Any], float | None]) -> EpisodeMean:
    """A measure of continuous actions: from an episode's actions and their space to a number."""

    def of_episode(episode: Episode) -> float | None:
        space = episode.space
        return None if space is None or space.finite else value(episode.actions, space)

    return EpisodeMean(of_episode)


# One row per measure: name, label, unit, better, compute, format, view.
_ROWS = (
    Measure(
        "return", "return", "", "higher", EpisodeMean(lambda e: e.return_), "{:.2f}", "headline"
    ),
    Measure("return_std", "standard deviation of return", "", None, _return_std, "{:.2f}", "list"),
    Measure(
        "length",
        "length",
        "steps",
        None,
        EpisodeMean(len),
        "{:.1f}",
        "list",
        of_actions=True,
        in_seconds=InSeconds("length_seconds", "length", "seconds", 1),
    ),
    Measure(
        "oscillation_ratio",
        "oscillation ratio",
        "switches per step",
        "lower",
        EpisodeMean(lambda e: e.switches / len(e)),
        "{:.3f}",
        "headline",
        of_actions=True,
        in_seconds=InSeconds("switches_per_second", "switches", "per second", -1),
    ),
    Measure(
        "head_oscillation",
        "oscillation of a head",
        "switches per step, mean over the heads",
        "lower",
        EpisodeMean(lambda e: None if (r := head_ratios(e)) is None else float(r.mean())),
        of_actions=True,
    ),
    Measure(
        "reversal_ratio",
        "reversal ratio",
        "reversals per step",
        "lower",
        EpisodeMean(lambda e: e.reversals / len(e)),
        of_actions=True,
        in_seconds=InSeconds("reversals_per_second", "reversals", "per second", -1),
    ),
    Measure(
        "mean_dwell",
        "mean dwell",
        "steps per action held",
        "higher",
        _mean_dwell,
        "{:.2f}",
        of_actions=True,
        in_seconds=InSeconds("mean_dwell_seconds", "mean dwell", "seconds per action held", 1),
    ),
    Measure(
        "action_fluctuation",
        "action fluctuation",
        "share of the range per step",
        "lower",
        _of_movement(lambda actions, space: movement.fluctuation(actions)),
        "{:.4f}",
        "headline",
        of_actions=True,
        in_seconds=InSeconds("fluctuation_per_second", "movement", "ranges per second", -1),
    ),
    Measure(
        "sign_reversals",
        "sign reversals",
        "turns per step",
        "lower",
        _of_movement(lambda actions, space: movement.sign_reversals(actions, space.tolerance)),
        of_actions=True,
        in_seconds=InSeconds("sign_reversals_per_second", "sign reversals", "per second", -1),
    ),
    Measure(
        "jerk",
        "jerk",
        "share of the range per step cubed",
        "lower",
        _of_movement(lambda actions, space: movement.jerk(actions)),
        "{:.4f}",
        of_actions=True,
        in_seconds=InSeconds("jerk_seconds", "jerk", "ranges per second cubed", -3, "{:.1f}"),
    ),
    Measure(
        "caps_smoothness",
        "CAPS smoothness",
        f"Sm over {movement.WINDOW} steps",
        "lower",
        _of_movement(lambda actions, space: movement.smoothness(actions)),
        "{:.4f}",
        of_actions=True,
    ),
    Measure(
        "termination_rate",  # success or failure: this depends on the env
        "termination rate",
        "share of episodes",
        None,
        EpisodeMean(lambda e: e.terminated),
        "{:.2f}",
        "headline",
        unless="crash_rate",
    ),
    Measure(
        "crash_rate",
        "crash rate",
        "share of episodes",
        "lower",
        EpisodeMean(lambda e: e.crashed),
        "{:.2f}",
        "headline",
    ),
    Measure(
        "forced_switches",  # the limit had no token, and the last action was forbidden
        "forced switches",
        "per episode",
        "lower",
        EpisodeMean(lambda e: e.forced),
        "{:.2f}",
    ),
    Measure("mu_mean", "mean mu", "", None, StepMean(lambda e: e.mu), "{:.2f}"),
    Measure(
        "mu_under_0.05",
        "mu under 0.05",
        "share of steps",
        None,
        StepMean(lambda e: e.mu < 0.05),
        "{:.2f}",
        "list",
    ),
    Measure(
        "mu_over_0.95",
        "mu over 0.95",
        "share of steps",
        None,
        StepMean(lambda e: e.mu > 0.95),
        "{:.2f}",
        "list",
    ),
    Measure(
        "switch_mixed_minus_core",
        "probability of a switch, mixed minus core",
        "",
        None,
        StepMean(lambda e: e.switch_gap),
        "{:.3f}",
        "list",
    ),
)

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ROWS}
"""Every measure by name, in the order of tables."""

# What decisions are about: budgets, verdicts and the plots of return against oscillation.
RETURN = MEASURES["return"]
OSCILLATION = MEASURES["oscillation_ratio"]
FLUCTUATION = MEASURES["action_fluctuation"]
CRASHES = MEASURES["crash_rate"]
FORCED = MEASURES["forced_switches"]
MU = MEASURES["mu_mean"]


def select_measures(figures: Iterable[Mapping[str, Any]], view: View = "list") -> list[Measure]:
    """Return the measures to show for some policies, in the registry's order.

    Args:
        figures: One mapping per policy, from names of measures to numbers or estimates. A measure
            that is None or missing in all of them is left out.
        view: "headline" for a narrow table, "wide" for a table with a column per measure, "list"
            for everything.
    """
    known = {name for one in figures for name, value in one.items() if value is not None}
    return [
        measure
        for name, measure in MEASURES.items()
        if name in known
        and VIEWS.index(measure.view) <= VIEWS.index(view)
        and not (view == "headline" and measure.unless in known)
    ]


def action_measures(step_time: float | None = None) -> list[Measure]:
    """The measures of actions alone, in the registry's order; then the same in seconds.

    Args:
        step_time: Seconds of a step; None leaves out the measures in seconds.
    """
    per_step = [measure for measure in MEASURES.values() if measure.of_actions]
    if step_time is None:
        return per_step
    timed = [measure.at_step_time(step_time) for measure in per_step]
    return [*per_step, *(measure for measure in timed if measure is not None)]


Figures = dict[str, float | None]
"""Figures as files hold them: numbers by the name of the measure, None where unknown."""


ALWAYS_KNOWN = (RETURN, MEASURES["length"], OSCILLATION, MEASURES["termination_rate"])
"""The measures that every evaluation has, whatever the env and the policy."""


def refuse_incomplete(
    figures: Mapping[str, Any], name: str, measures: Sequence[Measure] = ALWAYS_KNOWN
) -> None:
    """Check figures that were read from a file.

    Args:
        figures: Numbers by the name of the measure.
        name: What the file calls them.
        measures: Measures that must be there.

    Raises:
        InputError: One of them is missing.
    """
    for measure in measures:
        if not isinstance(figures.get(measure.name), int | float):
            raise InputError(f"{name} has no {measure.name}: it must be a number")


def summarise(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return every measure of some episodes by name; None where it is unknown."""
    return Evaluation(episodes).summary()
