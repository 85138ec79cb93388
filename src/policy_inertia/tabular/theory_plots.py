"""The two pictures of `policy-inertia theory`: improvement by round, and the trade-off curve."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from policy_inertia.drawing.palette import COLOURS
from policy_inertia.files import write_file
from policy_inertia.tabular.example_results import ExampleResult
from policy_inertia.tabular.iteration import whole_rounds

_CORE, _NESTED, _RULE = COLOURS[2], COLOURS[0], COLOURS[3]


def draw_improvement(examples: Sequence[ExampleResult], path: Path) -> None:
    """Draw the objectives of the core and of the mixed policy after each round."""
    fig, axes = _panels(len(examples))
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
    fig, axes = _panels(len(examples))
    for axis, example in zip(axes, examples, strict=True):
        vertices = example.curve.vertices
        x, y = [v.switch_rate for v in vertices], [v.return_ for v in vertices]
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


def _panels(n: int) -> tuple[Figure, Any]:
    fig = Figure(figsize=(3 * n, 3.2), layout="constrained")
    axes = fig.subplots(1, n, squeeze=False)
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
    return fig, axes[0]


def _save(fig: Figure, path: Path, title: str) -> None:
    fig.suptitle(title, fontsize=10)
    data = io.BytesIO()
    fig.savefig(data, format=path.suffix.removeprefix("."), dpi=110)
    write_file(path, data.getvalue())
