"""The greedy episodes of a calibration: the same ones for every setting."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from policy_inertia.envs.making import EnvLike, side_by_side
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.metrics.calibration_table import Row
from policy_inertia.metrics.estimates import upper_bound
from policy_inertia.metrics.measures import FLUCTUATION, MEASURES, OSCILLATION, Evaluation
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.protocol import Predictor
from policy_inertia.seeds import Stream, stream_seed

MOST_ENVS = 20  # that run side by side

Progress = Callable[[int, int], None]
"""Called with the number of finished measurements and the number that is expected."""


class Episodes:
    """Runs the same episodes with every policy that it is given.

    Args:
        envs: Open envs.
        episodes: Number of episodes.
        seed: Seed of the calibration.
        stream: What the episodes are for; each purpose has its own.
        measured: Called after each row.
    """

    def __init__(
        self,
        envs: Envs,
        episodes: int,
        seed: int,
        stream: Stream = Stream.CALIBRATION,
        measured: Callable[[], None] | None = None,
    ) -> None:
        self.envs, self.count, self.measured = envs, episodes, measured
        self.first_seed = stream_seed(seed, stream)

    def run(self, policy: Predictor) -> Evaluation:
        """Run the episodes with greedy actions."""
        return evaluate(policy, self.envs, self.count, self.first_seed, deterministic=True)

    def row(self, policy: Policy, setting: float) -> Row:
        """Measure a policy at one setting."""
        evaluation = self.run(policy.with_setting(setting))
        finite = policy.spaces.actions.finite
        measure = OSCILLATION if finite else FLUCTUATION
        figures, ratios = evaluation.summary(), measure.values(evaluation)
        if ratios is None:
            raise InputError(
                "an episode has a single step, so its movement is not known: give an env whose "
                "episodes are longer"
            )
        if self.measured is not None:
            self.measured()
        known = {name: figures[name] for name in MEASURES}
        kind: Any = measure.name
        return Row(setting, known, upper_bound(ratios), policy.mode, kind)


class Counter:
    """Counts measurements for a progress bar."""

    def __init__(self, progress: Progress | None, expected: int) -> None:
        self.progress, self.done, self.expected = progress, 0, expected

    def __call__(self) -> None:
        self.done += 1
        self.expected = max(self.expected, self.done)
        if self.progress is not None:
            self.progress(self.done, self.expected)

    def start(self) -> None:
        """Say that the first measurement is under way."""
        if self.progress is not None:
            self.progress(0, self.expected)

    def finish(self) -> None:
        """Say that no more measurements follow, if there were any."""
        if self.progress is not None and self.done:
            self.progress(self.done, self.done)


@contextlib.contextmanager
def opened(env: EnvLike | Envs, episodes: int, env_kwargs: dict[str, Any] | None) -> Iterator[Envs]:
    """Yield open envs; close them afterwards, unless they were given open."""
    if isinstance(env, Envs):
        yield env
        return
    envs = Envs(env, side_by_side(env, min(episodes, MOST_ENVS)), _any_seed, env_kwargs)
    try:
        yield envs
    finally:
        envs.close()


def _any_seed(env: int, episode: int) -> int:
    """Seed the envs until `evaluate` restarts them with its own seeds."""
    return 0
