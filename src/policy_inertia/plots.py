"""Pictures of comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .comparison import Comparison

# Okabe and Ito's palette: distinct for colour-blind readers too
COLOURS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
PANELS = (("eval/oscillation_ratio", "oscillation ratio"), ("eval/mean_reward", "return"))


def draw_curves(comparison: Comparison, path: Path) -> None:
    """Oscillation (left) and return (right) against steps, as in the paper: mean and range."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    curves = comparison.curves
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), constrained_layout=True)
    for axis, (key, label) in zip(axes, PANELS, strict=True):
        ends = []
        for colour, (name, runs) in zip(COLOURS * len(curves), curves.items(), strict=False):
            n = min(len(records) for records in runs)
            steps = [record["step"] for record in runs[0][:n]]
            values = np.array([[record[key] for record in records[:n]] for records in runs])
            axis.plot(steps, values.mean(0), color=colour, lw=2, label=name)
            axis.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.15, lw=0)
            ends.append((float(values[:, -1].mean()), name, colour))
        axis.set(xlabel="environment steps", ylabel=label)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
        _label_ends(axis, ends)
    seeds = max((len(runs) for runs in curves.values()), default=0)
    fig.suptitle(f"{comparison.env}: mean over {seeds} seed{'s' * (seeds != 1)}, shade from lowest "
                 "to highest, sampled actions", fontsize=10)  # fmt: skip
    fig.savefig(path, dpi=130)
    plt.close(fig)


def _label_ends(axis: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write each curve's name at its end, moved apart where two would overlap."""
    low, high = axis.get_ylim()
    gap = (high - low) * 0.06
    ends = sorted(ends)
    heights = [value for value, _, _ in ends]
    for i in range(1, len(heights)):  # up from below ...
        heights[i] = max(heights[i], heights[i - 1] + gap)
    for i in reversed(range(len(heights))):  # ... and down again from the top of the picture
        heights[i] = min(heights[i], high - gap * (len(heights) - 1 - i))
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        axis.annotate(
            name,
            (1.01, height),
            xycoords=("axes fraction", "data"),
            color=colour,
            va="center",
            annotation_clip=False,
        )
