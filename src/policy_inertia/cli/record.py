"""policy-inertia record: episodes of a trained policy as a GIF or MP4."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tyro.conf import DisallowNone, arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import (
    Burst,
    Costs,
    Dwell,
    PolicyInEnv,
    Rate,
    Seed,
    Threshold,
    allowance,
    default_is,
    filtered,
    render_offscreen,
)
from policy_inertia.cli.view import say

if TYPE_CHECKING:
    from policy_inertia.evaluation.recording import Recording


@dataclass(frozen=True)
class Record(Command):
    """Record episodes as a GIF or MP4.

    Under each frame, a strip shows the actions so far and the inertia mu; for continuous actions,
    a line for each number. The environment must offer the render mode rgb_array. For a policy of
    others, --env names it.
    """

    name: ClassVar[str] = "record"
    example: ClassVar[str] = "policy-inertia record runs/CartPole-v1-nsac-0"

    source: Annotated[PolicyInEnv, arg(name="")]
    out: Annotated[DisallowNone[Path | None], default_is("recording.gif beside the policy")] = None
    """The file to write: .gif, or .mp4 where imageio-ffmpeg is installed."""
    beside: Annotated[DisallowNone[Path | None], default_is("none")] = None
    """Another policy, filmed from the same starts and shown above: before and after."""
    episodes: int = 1
    """Number of episodes, shown one after the other."""
    seed: Seed = 0
    greedy: bool = False
    """Take the most probable action instead of sampling one."""
    budget: Annotated[DisallowNone[float | None], default_is("none")] = None
    """Act at the setting that switches in at most this share of the steps. A policy without a
    calibration is calibrated first."""
    hysteresis: Threshold = None
    limit: Rate = None
    burst: Burst = None
    dwell: Dwell = None
    costs: Costs = None
    steps: int = 500
    """Largest number of steps of an episode; what comes later is cut."""
    speed: float = 10.0
    """Steps per second."""

    def run(self) -> None:
        from policy_inertia.calibration.curves import calibrated
        from policy_inertia.drawing import video
        from policy_inertia.interop.any_policy import load_any

        path = self.out or self.source.beside("recording.gif")
        video.check_path(path)
        held_to = allowance(self.limit, self.burst)
        policy = self.source.load()
        env, kwargs = self.source.environment(policy)
        if self.budget is not None:
            policy = calibrated(policy, env, kwargs).with_budget(self.budget)
        policy = filtered(policy, self.hysteresis, held_to, self.dwell, self.costs)
        other = None if self.beside is None else load_any(self.beside, env, kwargs)
        render_offscreen()
        above = None if other is None else self._film(other, env, kwargs)
        episodes = self._film(policy, env, kwargs)
        video.write(episodes, path, self.speed, above)
        if above is not None:
            _show(above, f"{self.beside}, ")
        _show(episodes)
        say(f"Recorded: {path}")

    def _film(self, policy: Any, env: str, kwargs: dict[str, Any]) -> list[Recording]:
        from policy_inertia.evaluation.recording import record
        from policy_inertia.policies.core_policy import label_of

        return record(
            policy,
            env,
            self.episodes,
            self.seed,
            self.greedy,
            label_of(policy),
            steps=self.steps,
            env_kwargs=kwargs,
        )


def _show(episodes: list[Recording], name: str = "") -> None:
    for k, episode in enumerate(episodes):
        cut = ", cut there" if episode.cut else ""
        say(f"{name}episode {k}: return {episode.return_:.1f}, {episode.movement}{cut}")
