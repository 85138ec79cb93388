"""A check that anyone can run: the same seeds and actions in highway-env and here, side by side."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policy_inertia.envs.highway.config import (
    Config,
    configuration,
    task_named,
    upstream_configuration,
)
from policy_inertia.envs.highway.simulator.records import ROUTE
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.upstream import recorder as upstream
from policy_inertia.envs.highway.upstream.bridge import require_upstream
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Parity:
    """How far apart the two simulators were, over all seeds and steps.

    `forward` is the largest difference of any kind before a vehicle first rolled backwards: its
    steering is unstable from then on, and multiplies a difference in the last bit.
    """

    task: str
    seeds: int
    steps: int  # compared, over all seeds
    state: float
    observation: float
    reward: float
    forward: float
    flags: int  # mismatches of lanes, crashes, ends, counts and routes
    generators: int  # random generators that ended in another state
    first: tuple[int, int] | None  # the seed and the step of the first difference

    @property
    def exact(self) -> bool:
        return self.first is None and self.generators == 0

    def __str__(self) -> str:
        first = "nowhere" if self.first is None else f"seed {self.first[0]}, step {self.first[1]}"
        return (
            f"{self.task}: {self.seeds} seeds, {self.steps} steps; largest difference in state "
            f"{self.state:.3g}, observation {self.observation:.3g}, reward {self.reward:.3g}; "
            f"{self.flags} flags differ; first difference: {first}"
        )


def parity(
    task: str,
    seeds: Iterable[int] = range(5),
    steps: int = 30,
    config: Config | None = None,
    *,
    nudge: float = 0.0,
    plain_arithmetic: bool = True,
) -> Parity:
    """Run highway-env and our simulator from the same seeds with the same random actions.

    Neither is stopped where an episode ends. `config` goes on top of upstream's defaults. With
    `nudge` our ego starts that many metres further on: what the check must see. NumPy may compute
    with vector units whose last bit differs from libm's; `plain_arithmetic` tells the original's
    NumPy not to, so that equal means equal.
    """
    seeds = list(seeds)
    if not seeds or steps < 1:
        raise InputError(f"parity needs a seed and a step, got {len(seeds)} and {steps}")
    spec = task_named(task)
    full = configuration(spec, config, preset="upstream")
    simulation = Simulation(spec, full, len(seeds))
    draws = [np.random.default_rng([seed, steps]) for seed in seeds]
    actions = np.array([d.integers(simulation.actions_count, size=steps) for d in draws])
    request = {
        "id": spec.upstream_id,
        "config": upstream_configuration(spec, full),
        "seeds": seeds,
        "actions": actions.tolist(),
        "capacity": simulation.tables.capacity,
    }
    theirs = _original(request, plain_arithmetic)
    ours = _ours(simulation, seeds, actions, nudge)
    return _compare(spec.name, seeds, theirs, ours)


def _original(request: dict, plain_arithmetic: bool) -> dict[str, np.ndarray]:
    require_upstream("parity")
    environment = os.environ | {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy"}
    if plain_arithmetic:
        environment |= plain_environment()
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder, "asked.json"), Path(folder, "told.npz")
        asked.write_text(json.dumps(request, default=lambda value: value.tolist()))
        # -P: the script's folder must not be searched for modules
        command = [sys.executable, "-P", upstream.__file__, str(asked), str(told)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"highway-env failed:\n{done.stderr}")
        with np.load(told) as arrays:
            return dict(arrays)


def plain_environment() -> dict[str, str]:
    """Settings for a process whose NumPy uses libm, and OpenBLAS no fused multiply-add."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}
    core: Any = np._core._multiarray_umath  # type: ignore[attr-defined]  # where NumPy keeps them
    wide = [f for f in core.__cpu_dispatch__ if f == "X86_V4" or f.startswith("AVX512")]
    present = [f for f in wide if core.__cpu_features__.get(f)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(present), "OPENBLAS_CORETYPE": "Nehalem"}


def _ours(
    simulation: Simulation, seeds: list[int], actions: np.ndarray, nudge: float
) -> dict[str, np.ndarray]:
    """The same arrays as the original's, from our simulator."""
    simulation.begin(np.ones(len(seeds), bool), list(seeds))
    frames = [_frame(simulation)]
    scenes = simulation.scenes
    if nudge:
        scenes["x"][np.arange(len(seeds)), scenes["ego"]] += nudge
        scenes["along"][np.arange(len(seeds)), :, scenes["ego"]] += nudge
    for t in range(actions.shape[1]):
        simulation.step(np.ascontiguousarray(actions[:, t]))
        frames.append(_frame(simulation))
    arrays = {name: np.stack([f[name] for f in frames], axis=1) for name in frames[0]}
    return arrays | {"generator": scenes["rng"].copy()}


def _frame(simulation: Simulation) -> dict[str, np.ndarray]:
    scenes, outcomes = simulation.scenes, simulation.outcomes
    names = (*upstream.NUMBERS, "crashed", "lane", "target_lane", "vehicles", "ego")
    frame = {name: scenes[name].copy() for name in names}
    frame |= {n: outcomes[n].copy() for n in ("reward", "terminated", "truncated")}
    frame["route_left"] = ROUTE - scenes["route_head"]
    return frame | {"seen": simulation.seen.copy()}


def _gap(theirs: np.ndarray, ours: np.ndarray) -> float:
    """The largest difference; infinite where one of the two is not a number."""
    same = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
    apart = np.nan_to_num(np.abs(theirs - ours), nan=np.inf, posinf=np.inf)
    return float(np.where(same, 0.0, apart).max(initial=0.0))


def _compare(
    task: str, seeds: list[int], theirs: dict[str, np.ndarray], ours: dict[str, np.ndarray]
) -> Parity:
    state = observation = reward = forward = 0.0
    flags = generators = steps = 0
    first: tuple[int, int] | None = None
    for k, seed in enumerate(seeds):
        backwards = False
        for t in range(int(theirs["length"][k]) + 1):
            count = int(theirs["vehicles"][k, t])
            shared = min(count, int(ours["vehicles"][k, t]))
            present = np.arange(shared)
            others = present[present != theirs["ego"][k, t]]  # the ego has no timer and no delta
            apart = 0.0
            for name in upstream.NUMBERS:
                who = others if name in ("delta", "timer") else present
                apart = max(apart, _gap(theirs[name][k, t, who], ours[name][k, t, who]))
            wrong = sum(
                int((theirs[name][k, t, :shared] != ours[name][k, t, :shared]).sum())
                for name in upstream.FLAGS
            )
            wrong += sum(
                int(theirs[name][k, t] != ours[name][k, t])
                for name in ("vehicles", "ego", "terminated", "truncated")
            )
            sight = _gap(theirs["seen"][k, t], ours["seen"][k, t])
            pay = _gap(theirs["reward"][k, t], ours["reward"][k, t])
            state, observation, reward = (
                max(state, apart),
                max(observation, sight),
                max(reward, pay),
            )
            backwards = backwards or bool((theirs["speed"][k, t, :count] < 0).any())
            if not backwards:
                forward = max(forward, apart, sight, pay)
            flags += wrong
            if first is None and (wrong or max(apart, sight, pay) > 0):
                first = (seed, t)
        steps += int(theirs["length"][k])
        if theirs["length"][k] == theirs["reward"].shape[1] - 1:
            generators += int((theirs["generator"][k] != ours["generator"][k]).any())
    return Parity(
        task, len(seeds), steps, state, observation, reward, forward, flags, generators, first
    )
