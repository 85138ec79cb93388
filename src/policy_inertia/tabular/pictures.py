"""Pictures of exact MDPs: improvement per iteration, and the trade-off with what is on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policy_inertia.drawing.plots import COLOURS
from policy_inertia.tabular.iteration import full_steps
from policy_inertia.tabular.portrait import Portrait

_CORE, _NESTED, _RULE = COLOURS[2], COLOURS[0], COLOURS[3]


def draw_improvement(portraits: Sequence[Portrait], path: Path) -> None:
    """The objective of core and mixed policy after each round; a fall is marked."""
    fig, axes = _panels(len(portraits))
    for axis, portrait in zip(axes, portraits, strict=True):
        rounds = full_steps(portrait.steps)
        at = [step.round for step in rounds]
        axis.plot(at, [s.core_objective for s in rounds], color=_CORE, marker=".", label="core")
        axis.plot(at, [s.objective for s in rounds], color=_NESTED, marker=".", label="mixed")
        worst = portrait.smallest_change
        note = "no Q falls" if worst > -1e-9 else f"largest fall of a Q: {-worst:.1g}"
        axis.set(title=portrait.mdp.name, xlabel="round")
        axis.text(0.97, 0.05, note, transform=axis.transAxes, ha="right", fontsize=8)
    axes[0].set_ylabel("objective, entropy included")
    axes[0].legend(frameon=False, fontsize=8)
    _save(fig, path, "Nested policy iteration, soft in both halves (temperatures 0.1 and 0.01)")


def draw_tradeoff(portraits: Sequence[Portrait], path: Path) -> None:
    """Return against switch rate: the best of all mu, the core, the rule's point and NPI's."""
    fig, axes = _panels(len(portraits))
    for axis, p in zip(axes, portraits, strict=True):
        vertices = p.curve.vertices
        x, y = [v.switch_rate for v in vertices], [v.return_ for v in vertices]
        axis.plot(x, y, color="0.4", lw=1.5, marker=".", ms=4, label="best of all mu")
        for label, point, colour, mark in (
            ("core alone", p.core, _CORE, "s"),
            ("Theorem 3.1's rule", p.rule, _RULE, "^"),
            ("nested iteration", p.nested, _NESTED, "o"),
        ):
            axis.plot(*point, mark, color=colour, ms=8, mfc="none", mew=2, label=label)
        axis.set(title=p.mdp.name, xlabel="switch rate")
    axes[0].set_ylabel("return")
    axes[0].legend(frameon=False, fontsize=8)
    _save(fig, path, "Every mu around the core that nested policy iteration found")


def _panels(n: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, n, figsize=(3 * n, 3.2), squeeze=False, constrained_layout=True)
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
    return fig, axes[0]


def _save(fig: Any, path: Path, title: str) -> None:
    from matplotlib import pyplot as plt

    fig.suptitle(title, fontsize=10)
    fig.savefig(path, dpi=110)
    plt.close(fig)
