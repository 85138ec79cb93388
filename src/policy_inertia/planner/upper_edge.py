"""What a planner that knows the future reaches within a budget of oscillation.

The best episodes of several starts, for each number of switches, and how to share a budget among
them. With a limit on switching, every episode keeps it. A beam finds less than the optimum, so this
is an estimate from below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policy_inertia.actions.bucket import TOKEN, Limit
from policy_inertia.envs.highway import TrafficVectorEnv
from policy_inertia.envs.highway.simulator.records import scene_dtype
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.making import EnvLike, make_vector, name_of
from policy_inertia.envs.registry import task_of
from policy_inertia.errors import InputError
from policy_inertia.machine import free_memory
from policy_inertia.metrics.episodes import Episode
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.planner.beam import BeamSearch, better, token_levels
from policy_inertia.seeds import Stream, stream_seed

BUDGETS = (0.05, 0.1, 0.15, 0.2)
SIDE_BY_SIDE = 64  # scenes that are stepped in one call
UNLIMITED_STEPS = 25  # for a task without a duration: how long an episode is assumed to be
RISE = 1e-3  # a wider beam must raise a return by this share, or avoid a crash, to go on
CALM = 2  # a beam is settled when so many doublings in a row raise nothing
GRAIN = 10_000  # a budget is shared in parts of 1 / GRAIN

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plans:
    """The best episodes from one start, one for each number of switches.

    Attributes:
        seed: the seed of the start.
        width: the width of the widest beam.
        settled: whether the last two doublings of the width raised nothing.
        episodes: the episodes, with ever more switches and each better than those before it.
    """

    seed: int
    width: int
    settled: bool
    episodes: tuple[Episode, ...]


@dataclass(frozen=True)
class UpperEdge:
    """The plans of several starts of one task; with a limit, all of them keep it."""

    env: str
    env_kwargs: dict[str, Any]
    plans: tuple[Plans, ...]
    limit: Limit | None = None

    def within(self, budget: float | None = None) -> Evaluation:
        """Return one episode for each start, whose mean oscillation ratio is within `budget`.

        The budget is shared among the starts so that as few episodes as possible crash, and then
        so that the returns are as large as possible.

        Args:
            budget: an oscillation ratio; None means no budget.
        """
        if budget is None:
            return Evaluation([p.episodes[-1] for p in self.plans])
        if not 0 <= budget <= 1:
            raise InputError(f"a budget is {budget}: give an oscillation ratio from 0 to 1")
        return Evaluation(_shared([p.episodes for p in self.plans], budget))

    def figures(self, budgets: Sequence[float] = BUDGETS) -> dict[str, dict[str, Any]]:
        """Return the figures within each budget and, last, without a budget."""
        rows = {f"{budget:g}": self.within(budget).summary() for budget in budgets}
        last = "no limit" if self.limit is None else str(self.limit)
        return {**rows, last: self.within().summary()}


def find_upper_edge(
    env: EnvLike,
    episodes: int = 20,
    seed: int = 0,
    beam: int = 50,
    widest: int = 1_600,
    budgets: Sequence[float] = BUDGETS,
    env_kwargs: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    limit: Limit | None = None,
) -> UpperEdge:
    """Search the best episodes of a task, from the starts that `evaluate` takes for this seed.

    Args:
        env: id of a task whose scenes can be copied: the Highway tasks.
        episodes: number of starts.
        seed: the k-th episode starts from the k-th seed that this seed gives.
        beam: how many running episodes each beam keeps at first.
        widest: the beam is doubled until two doublings raise nothing, up to this width.
        budgets: the largest budget decides how many beams there are.
        env_kwargs: arguments of the env, on top of those of evaluation.
        progress: called with the number of finished and of all episodes.
        limit: a limit on switching that every episode keeps; each starts with a full bucket.

    Raises:
        InputError: the task cannot be copied, or the beam is empty, wider than `widest` or too wide
            for the memory.
    """
    if episodes < 1:
        raise InputError(f"episodes is {episodes}: plan at least one")
    if beam < 1:
        raise InputError(f"beam is {beam}: a beam keeps at least 1 episode, better 100")
    if widest < beam:
        raise InputError(
            f"widest is {widest:,} and beam is {beam:,}: a beam is only widened, so give a widest "
            "of at least the beam"
        )
    if limit is not None and limit.carry_over:
        raise InputError(
            "the limit carries tokens over, and the planner's episodes know nothing of each other: "
            "leave carry_over out"
        )
    name, kwargs = name_of(env), dict(env_kwargs or {})
    vector, _ = make_vector(env, SIDE_BY_SIDE, task_of(name).eval_env_kwargs | kwargs)
    try:
        if not isinstance(vector, TrafficVectorEnv):
            raise InputError(
                f"the scenes of {name} cannot be copied, and the planner needs copies: give a "
                "Highway task, such as TwoWay"
            )
        if vector.simulation.continuous:
            raise InputError(
                f"{name} has continuous actions here, and the planner needs discrete ones: leave "
                "config.action out"
            )
        simulation, switches = vector.simulation, _beams(vector, budgets, limit)
        _refuse_too_wide(simulation, switches, beam, limit)
        plans = []
        for k in range(episodes):
            start = stream_seed(seed, Stream.EPISODE, k)
            plans.append(plan_episode(simulation, start, switches, beam, widest, limit))
            if progress is not None:
                progress(k + 1, episodes)
        return UpperEdge(name, kwargs, tuple(plans), limit)
    finally:
        vector.close()


def plan_episode(
    simulation: Simulation,
    seed: int,
    switches: int,
    beam: int,
    widest: int,
    limit: Limit | None = None,
) -> Plans:
    """Search from one start with wider and wider beams, until the result stops rising.

    Args:
        simulation: scenes of the task.
        seed: the seed of the start.
        switches: there is a beam for each number of switches up to this one.
        beam: the width of the first beams.
        widest: the greatest width.
        limit: a limit on switching that every episode keeps.
    """
    best = _improving(BeamSearch(simulation, seed, switches, beam, limit).run())
    calm = 0  # doublings in a row that raised nothing
    while calm < CALM and 2 * beam <= widest and _fits(simulation, switches, 2 * beam, limit):
        beam *= 2
        joint = _improving([*best, *BeamSearch(simulation, seed, switches, beam, limit).run()])
        rises = [_rises(_at_most(best, k), _at_most(joint, k)) for k in range(switches)]
        calm = 0 if any(rises) or _rises(best[-1], joint[-1]) else calm + 1
        best = joint
    return Plans(seed, beam, calm == CALM, tuple(best))


def _improving(episodes: Sequence[Episode | None]) -> list[Episode]:
    """Return the episodes by their number of switches, without those that gain nothing."""
    known = [e for e in episodes if e is not None]
    rising: list[Episode] = []
    for episode in sorted(known, key=lambda e: (e.switches / len(e), e.crashed, -e.return_)):
        if not rising or better(rising[-1], episode) is episode:
            rising.append(episode)
    return rising


def _at_most(episodes: Sequence[Episode], switches: int) -> Episode | None:
    allowed = [e for e in episodes if e.switches <= switches]
    return allowed[-1] if allowed else None


def _rises(old: Episode | None, new: Episode | None) -> bool:
    if old is None or new is None:
        return old is not new
    gain = new.return_ - old.return_
    return (bool(old.crashed) and not new.crashed) or gain > RISE * abs(old.return_)


def _shared(options: Sequence[Sequence[Episode]], budget: float) -> list[Episode]:
    """Choose one episode of each start within a mean budget: fewest crashes, largest returns.

    Dynamic programming over the starts. Ratios are rounded up, so the budget is never exceeded.
    """
    room = int(budget * GRAIN * len(options) + 1e-6)
    value = np.zeros((room + 1, 2))  # without crashes, return: of the best choice within each room
    choices = []
    for episodes in options:
        best = np.full((room + 1, 2), -np.inf)
        choice = np.zeros(room + 1, int)
        for i, episode in enumerate(episodes):
            cost = int(np.ceil(GRAIN * episode.switches / len(episode) - 1e-6))
            if cost > room:
                continue
            offer = np.full((room + 1, 2), -np.inf)
            gain = np.array([not episode.crashed, episode.return_], float)
            offer[cost:] = value[: room + 1 - cost] + gain
            more = (offer[:, 0] > best[:, 0]) | (
                (offer[:, 0] == best[:, 0]) & (offer[:, 1] > best[:, 1])
            )
            best[more], choice[more] = offer[more], i
        value = best
        choices.append(choice)
    left, chosen = room, []
    for episodes, choice in zip(reversed(options), reversed(choices), strict=True):
        episode = episodes[choice[left]]
        chosen.append(episode)
        left -= int(np.ceil(GRAIN * episode.switches / len(episode) - 1e-6))
    return chosen[::-1]


def _beams(vector: TrafficVectorEnv, budgets: Sequence[float], limit: Limit | None) -> int:
    """Return the number of switches of the last beam.

    It is one more than the largest budget allows, and no more than the limit allows.
    """
    duration, frequency = vector.config["duration"], vector.config["policy_frequency"]
    steps = UNLIMITED_STEPS if duration is None else duration * frequency
    most = int(np.ceil(max(budgets, default=0.0) * steps)) + 1
    if limit is None:
        return most
    return min(most, int(limit.burst_units + limit.rate_units * steps) // TOKEN)


def _memory(simulation: Simulation, switches: int, width: int, limit: Limit | None) -> int:
    """Return the bytes of the scenes of all beams, and of the steps from them."""
    scene = scene_dtype(int(simulation.tables.settings["vehicles_high"][0]) + 2).itemsize
    room = width * token_levels(limit, switches)
    return scene * room * (switches + 1 + 2 * simulation.actions_count - 1)


def _fits(simulation: Simulation, switches: int, width: int, limit: Limit | None) -> bool:
    return _memory(simulation, switches, width, limit) <= free_memory()


def _refuse_too_wide(
    simulation: Simulation, switches: int, width: int, limit: Limit | None
) -> None:
    if not _fits(simulation, switches, width, limit):
        need, free = _memory(simulation, switches, width, limit), free_memory()
        raise InputError(
            f"beam is {width:,}: it needs {need / 1e9:,.1f} GB and {free / 1e9:.1f} GB are free, "
            f"so give at most {int(width * free / need):,}"
        )
