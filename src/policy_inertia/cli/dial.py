"""policy-inertia dial: what each setting of a policy's dial costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone, arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import PolicyInEnv, Seed, default_is
from policy_inertia.cli.view import say, show_calibration, working


@dataclass(frozen=True)
class Dial(Command):
    """Show what each degree of smoothness costs.

    Prints return and crash rate at every setting of the policy's dial, and draws them against the
    oscillation ratio. The settings of a dial are prices of switching. Every policy has a second
    dial, the threshold of a hysteresis filter on its core, which is shown beside the first. A
    table that training has measured is read; what is missing is measured now.

    For continuous actions, the settings are those of the policy's filter, or of every filter if it
    has none, and the figures are drawn against the action fluctuation.
    """

    name: ClassVar[str] = "dial"
    example: ClassVar[str] = "policy-inertia dial runs/CartPole-v1-dial-dqn-0"

    source: Annotated[PolicyInEnv, arg(name="")]
    episodes: int = 50
    """Number of episodes at each setting that is measured now."""
    seed: Seed = 0
    out: Annotated[DisallowNone[Path | None], default_is("dial.png beside the policy")] = None
    """The picture to draw."""

    def run(self) -> None:
        from policy_inertia.calibration.curves import curves, dial_kind
        from policy_inertia.drawing.calibration_plot import draw_calibrations
        from policy_inertia.drawing.plots import picture_kind
        from policy_inertia.planner.known_edges import named_edge
        from policy_inertia.policies.core_policy import label_of

        picture = self.out or self.source.beside("dial.png")
        picture_kind(picture)  # a wrong name is refused before minutes of measuring
        policy = self.source.load()
        env, kwargs = self.source.environment(policy)
        with working("measuring") as update:
            measured = curves(
                policy,
                env,
                self.episodes,
                self.seed,
                kwargs,
                again=self.source.elsewhere,
                watch=lambda label: update(f"measuring {label}"),
            )
        for curve in measured:
            mode = f" ({curve.mode})" if curve.mode else ""
            show_calibration(
                f"{curve.label}{mode} on {env}, {curve.table.episodes} greedy episodes each",
                curve.table,
            )
        tables = {curve.label: curve.table for curve in measured}
        title, edges = f"{label_of(policy)} on {env}", named_edge(env, kwargs)
        draw_calibrations(tables, title, picture, edges, dial_kind(policy).against)
        say(f"Picture: {picture}")
