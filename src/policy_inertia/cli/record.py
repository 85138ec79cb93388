"""policy-inertia record: episodes of a trained policy as a GIF or MP4."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone, arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import (
    Burst,
    PolicyInEnv,
    Rate,
    Seed,
    Threshold,
    default_is,
    limit,
    render_offscreen,
)
from policy_inertia.cli.view import say


@dataclass(frozen=True)
class Record(Command):
    """Record episodes as a GIF or MP4.

    Under each frame, a strip shows the actions so far and the inertia mu. The environment must
    offer the render mode rgb_array. For a policy of others, --env names it.
    """

    name: ClassVar[str] = "record"
    example: ClassVar[str] = "policy-inertia record runs/CartPole-v1-nsac-0"

    source: Annotated[PolicyInEnv, arg(name="")]
    out: Annotated[DisallowNone[Path | None], default_is("recording.gif beside the policy")] = None
    """The file to write: .gif, or .mp4 where imageio-ffmpeg is installed."""
    episodes: int = 1
    """Number of episodes, shown one after the other."""
    seed: Seed = 0
    greedy: bool = False
    """Take the most probable action instead of sampling one."""
    hysteresis: Threshold = None
    limit: Rate = None
    burst: Burst = None
    steps: int = 500
    """Largest number of steps of an episode; what comes later is cut."""
    speed: float = 10.0
    """Steps per second."""

    def run(self) -> None:
        from policy_inertia.drawing import video
        from policy_inertia.evaluation.recording import record
        from policy_inertia.policies.core_policy import label_of

        path = self.out or self.source.beside("recording.gif")
        video.check_path(path)
        held_to = limit(self.limit, self.burst)
        policy = self.source.load()
        env, kwargs = self.source.environment(policy)
        if self.hysteresis is not None:
            policy = policy.with_hysteresis(self.hysteresis)
        if held_to is not None:
            policy = policy.within(held_to)
        render_offscreen()
        episodes = record(
            policy,
            env,
            self.episodes,
            self.seed,
            self.greedy,
            label_of(policy),
            steps=self.steps,
            env_kwargs=kwargs,
        )
        video.write(episodes, path, self.speed)
        for k, episode in enumerate(episodes):
            cut = ", cut there" if episode.cut else ""
            say(
                f"episode {k}: return {episode.return_:.1f}, {episode.switches} switches in "
                f"{len(episode.steps)} steps{cut}"
            )
        say(f"Recorded: {path}")
