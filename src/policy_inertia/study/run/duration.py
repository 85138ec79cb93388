"""How long a study will take, from a few seconds of each kind of run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from policy_inertia.calibration.sweep import SETTINGS
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.settings import RunConfig
from policy_inertia.study.plan import Run
from policy_inertia.study.run.job import AFTERWARDS
from policy_inertia.training.session import Session


@dataclass(frozen=True)
class Pace:
    """What one kind of run costs, in seconds."""

    start: float
    step: float
    episode: float
    ways: int = 2  # greedy and sampled; one where both are the same

    def seconds(self, run: Run) -> float:
        c = run.config
        evaluations = -(-c.steps // c.eval_every) + 1
        levels = [getattr(run, kind) for kind in AFTERWARDS]
        last = c.final_episodes * self.ways * (1 + sum(map(len, levels)))
        swept = bool(run.budgets) + bool(run.core_budgets)
        last += swept * (2 * SETTINGS + 1) * c.calibration_episodes
        return (
            self.start + c.steps * self.step + self.episode * (evaluations * c.eval_episodes + last)
        )


def estimate(
    runs: Sequence[Run], seconds: float = 1.0, watch: Callable[[int, int], None] | None = None
) -> list[float]:
    """Seconds that each run will take on one core, after timing each kind of run so long."""
    kinds = {_kind(r.config): r.config for r in runs}
    paces = {}
    for i, (kind, config) in enumerate(kinds.items()):
        paces[kind] = measure(config, seconds)
        if watch is not None:
            watch(i + 1, len(kinds))
    return [paces[_kind(r.config)].seconds(r) for r in runs]


def _kind(config: RunConfig) -> tuple[str, str, str]:
    """Runs that cost the same: settings such as a temperature make no difference."""
    return config.method, config.env, str(config.env_kwargs)


def measure(config: RunConfig, seconds: float) -> Pace:
    """Train and evaluate for a moment, in this process."""
    began = time.perf_counter()
    ready = replace(config, learning_starts=config.batch_size)
    session = Session(ready, config.env)
    while session.updates == 0:
        session.advance()
    warm = time.perf_counter()
    at, now = session.step, warm
    while now - warm < seconds or session.step == at:
        session.advance()
        now = time.perf_counter()
    step = (now - warm) / (session.step - at)
    episodes = min(5, config.eval_episodes)
    policy = session.policy()
    evaluate(policy, config.env, episodes, 0, env_kwargs=config.test_kwargs)  # the env's own start
    evaluated = time.perf_counter()
    evaluate(policy, config.env, episodes, 1, env_kwargs=config.test_kwargs)
    episode = (time.perf_counter() - evaluated) / episodes
    session.envs.close()
    return Pace(warm - began, step, episode, 1 if policy.deterministic else 2)
