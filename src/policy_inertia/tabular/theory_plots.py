"""The pictures of `policy-inertia theory`: improvement by round, trade-off curve, limits."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from policy_inertia.drawing.palette import COLOURS
from policy_inertia.files import write_file
from policy_inertia.tabular.curve import Curve, P
from policy_inertia.tabular.example_results import ExampleResult
from policy_inertia.tabular.iteration import whole_rounds
from policy_inertia.tabular.limit_survey import BURST, BURSTS, COUNT, RATES, Comparison, LimitSurvey

_CORE, _NESTED, _RULE = COLOURS[2], COLOURS[0], COLOURS[3]


def draw_improvement(examples: Sequence[ExampleResult], path: Path) -> None:
    """Draw the objectives of the core and of the mixed policy after each round."""
    fig, (axes,) = _panels(len(examples))
    for axis, example in zip(axes, examples, strict=True):
        rounds = whole_rounds(example.steps)
        x = [step.round for step in rounds]
        axis.plot(x, [s.core_objective for s in rounds], color=_CORE, marker=".", label="core")
        axis.plot(x, [s.objective for s in rounds], color=_NESTED, marker=".", label="mixed")
        change = example.smallest_change
        note = "no Q falls" if change > -1e-9 else f"largest fall of a Q: {-change:.1g}"
        axis.set(title=example.mdp.name, xlabel="round")
        axis.text(0.97, 0.05, note, transform=axis.transAxes, ha="right", fontsize=8)
    axes[0].set_ylabel("objective, entropy included")
    axes[0].legend(frameon=False, fontsize=8)
    _save(fig, path, "Nested policy iteration, soft in both halves (temperatures 0.1 and 0.01)")


def draw_tradeoff(examples: Sequence[ExampleResult], path: Path) -> None:
    """Draw return against switch rate: the curve of all mu, and three policies."""
    fig, (axes,) = _panels(len(examples))
    for axis, example in zip(axes, examples, strict=True):
        x, y = _axes(example.curve)
        axis.plot(x, y, color="0.4", lw=1.5, marker=".", ms=4, label="best of all mu")
        for label, policy, colour, marker in (
            ("core alone", example.core, _CORE, "s"),
            ("Theorem 3.1's rule", example.rule, _RULE, "^"),
            ("nested iteration", example.nested, _NESTED, "o"),
        ):
            axis.plot(*policy, marker, color=colour, ms=8, mfc="none", mew=2, label=label)
        axis.set(title=example.mdp.name, xlabel="switch rate")
    axes[0].set_ylabel("return")
    axes[0].legend(frameon=False, fontsize=8)
    _save(fig, path, "Every mu around the core of nested policy iteration")


def draw_limits(survey: LimitSurvey, path: Path) -> None:
    """Draw limits against prices: the curves of one MDP above, the gaps of many below."""
    examples = [*survey.scenes, *(r.example for r in survey.families)]
    fig, (upper, lower) = _panels(len(examples), rows=2, width=2.6)
    for axis, example in zip(upper, examples, strict=True):
        _draw_curves(axis, example)
    label = f"prices, mixed, at most {COUNT.burst} switches"
    upper[0].plot(*_axes(survey.priced), color=COLOURS[3], lw=1, ls="--", label=label)
    upper[0].set_ylabel("return, one MDP")
    scenes, families = lower[: len(survey.scenes)], lower[len(survey.scenes) :]
    for name, label, colour, marker in _GAPS:
        style = {"color": colour, "marker": marker, "ms": 4, "label": label}
        for axis, scene in zip(scenes, survey.scenes, strict=True):
            figures = scene.at_burst()
            x, y = [f.switch_rate for f in figures], [getattr(f, name) for f in figures]
            axis.plot(x, y, **style)
        for axis, result in zip(families, survey.families, strict=True):
            xs = [result.interval(k, "switch_rate").mean for k in range(len(RATES))]
            gaps = [result.interval(k, name) for k in range(len(RATES))]
            means, halves = zip(*gaps, strict=True)
            axis.errorbar(xs, means, halves, capsize=2, **style)
    for axis, result in zip(families, survey.families, strict=True):
        axis.set_title(f"mean of {len(result.figures[0])} MDPs", fontsize=9)
    for axis in lower:
        axis.set(xlabel="switch rate", ylim=(0, None))
    lower[0].set_ylabel(f"below the mixture (burst {BURST}),\nshare of what switching gains")
    handles = [h for axis in (upper[0], lower[0]) for h in axis.get_legend_handles_labels()[0]]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    _save(fig, path, "Hard limits on switching against prices of switching", dpi=90)


_GAPS = (
    ("duality_gap", "one price: gap of duality", COLOURS[0], "s"),
    ("cost", "limit: cost of the guarantee", COLOURS[2], "o"),
)


def _draw_curves(axis: Axes, example: Comparison) -> None:
    x, y = _axes(example.curve)
    axis.plot(x, y, color="0.6", lw=1, label="prices, mixed")
    axis.step(x, y, where="post", color=COLOURS[0], lw=1, marker=".", ms=4, label="one price")
    for burst, marker, colour in zip(
        BURSTS, "ov^", (COLOURS[1], COLOURS[2], COLOURS[4]), strict=True
    ):
        points = [p for p in example.limits if p.bucket.burst == burst]
        axis.plot(
            [p.switch_rate for p in points],
            [p.return_ for p in points],
            color=colour,
            marker=marker,
            ms=4,
            lw=1,
            label=f"limits, burst {burst}",
        )
    axis.set_title(example.mdp.name, fontsize=9)


def _axes(curve: Curve[P]) -> tuple[list[float], list[float]]:
    return [v.switch_rate for v in curve.vertices], [v.return_ for v in curve.vertices]


def _panels(n: int, rows: int = 1, width: float = 3) -> tuple[Figure, Any]:
    fig = Figure(figsize=(width * n, 3.2 * rows), layout="constrained")
    axes = fig.subplots(rows, n, squeeze=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
    return fig, axes


def _save(fig: Figure, path: Path, title: str, dpi: int = 110) -> None:
    fig.suptitle(title, fontsize=10)
    data = io.BytesIO()
    fig.savefig(data, format=path.suffix.removeprefix("."), dpi=dpi)
    write_file(path, data.getvalue())
