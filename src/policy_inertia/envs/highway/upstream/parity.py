"""Compare our simulator with highway-env: the same seeds and actions in both, step by step."""

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

from policy_inertia.envs.highway.config import configuration
from policy_inertia.envs.highway.simulator.controls import control_names
from policy_inertia.envs.highway.simulator.records import ROUTE
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.simulator.task import Config
from policy_inertia.envs.highway.tasks import task_named
from policy_inertia.envs.highway.upstream import recorder
from policy_inertia.envs.highway.upstream.configuration import class_path, exact_configuration
from policy_inertia.envs.highway.upstream.original import require_upstream
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Parity:
    """The largest differences between the two simulators, over all seeds and steps.

    `forward` is the largest difference of any kind before a vehicle first drives backwards. From
    then on its steering is unstable and multiplies a difference in the last bit.
    """

    task: str
    seeds: int
    steps: int  # compared, over all seeds
    state: float
    observation: float
    reward: float
    forward: float
    flags: int  # differing lanes, crashes, ends, counts and routes
    generators: int  # random generators that end in different states
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

    Ended episodes are stepped on in both.

    Args:
        task: the task's name.
        seeds: one episode each.
        steps: of each episode.
        config: settings on top of highway-env's defaults.
        nudge: our ego begins this many metres further on, to show that the check sees it.
        plain_arithmetic: NumPy may compute with vector units whose last bit differs from libm's;
            this switches them off in highway-env's process, so that equal means equal.

    Raises:
        InputError: if highway-env is not installed or cannot do what `config` needs.
    """
    seeds = list(seeds)
    if not seeds or steps < 1:
        raise InputError(f"parity needs a seed and a step, got {len(seeds)} and {steps}")
    traffic_task = task_named(task)
    full = configuration(traffic_task, config, preset="upstream")
    simulation = Simulation(traffic_task, full, len(seeds))
    actions = np.array([_random_actions(simulation, [seed, steps]) for seed in seeds])
    request = {
        "class": class_path(traffic_task, full),
        "config": exact_configuration(traffic_task, full),
        "seeds": seeds,
        "actions": actions.tolist(),
        "capacity": simulation.tables.capacity,
    }
    theirs = _run_original(request, plain_arithmetic)
    ours = _run_ours(simulation, seeds, actions, nudge)
    return _compare(traffic_task.name, seeds, theirs, ours)


def _random_actions(simulation: Simulation, seed: list[int]) -> np.ndarray:
    """Return the actions of one episode; `seed` ends with the number of its steps."""
    draws = np.random.default_rng(seed)
    if simulation.continuous:
        numbers = len(control_names(simulation.config["action"]))
        return draws.uniform(-1.2, 1.2, (seed[-1], numbers)).astype(np.float32)  # some are clipped
    return draws.integers(simulation.actions_count, size=seed[-1])


def _run_original(request: dict[str, Any], plain_arithmetic: bool) -> dict[str, np.ndarray]:
    require_upstream("parity")
    environment = os.environ | {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy"}
    if plain_arithmetic:
        environment |= plain_environment()
    with tempfile.TemporaryDirectory() as folder:
        request_file, record_file = Path(folder, "request.json"), Path(folder, "record.npz")
        request_file.write_text(json.dumps(request, default=lambda value: value.tolist()))
        # -P: Python must not search the script's folder for modules
        command = [sys.executable, "-P", recorder.__file__, str(request_file), str(record_file)]
        process = subprocess.run(command, env=environment, capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(f"highway-env failed:\n{process.stderr}")
        with np.load(record_file) as arrays:
            return dict(arrays)


def plain_environment() -> dict[str, str]:
    """Return variables for a process in which NumPy uses libm, and OpenBLAS no fused products."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}
    core: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    wide = [f for f in core.__cpu_dispatch__ if f == "X86_V4" or f.startswith("AVX512")]
    available = [f for f in wide if core.__cpu_features__.get(f)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(available), "OPENBLAS_CORETYPE": "Nehalem"}


def _run_ours(
    simulation: Simulation, seeds: list[int], actions: np.ndarray, nudge: float
) -> dict[str, np.ndarray]:
    """Return the arrays that `recorder.record` returns, from our simulator."""
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
    names = (*recorder.NUMBERS, "crashed", "lane", "target_lane", "vehicles", "ego")
    frame = {name: scenes[name].copy() for name in names}
    frame |= {n: outcomes[n].copy() for n in ("reward", "terminated", "truncated")}
    frame["route_left"] = ROUTE - scenes["route_head"]
    return frame | {"seen": simulation.seen.copy()}


def _gap(theirs: np.ndarray, ours: np.ndarray) -> float:
    """Return the largest difference; it is infinite where only one of the two is a NaN."""
    same = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
    difference = np.nan_to_num(np.abs(theirs - ours), nan=np.inf, posinf=np.inf)
    return float(np.where(same, 0.0, difference).max(initial=0.0))


def _compare(
    task: str, seeds: list[int], theirs: dict[str, np.ndarray], ours: dict[str, np.ndarray]
) -> Parity:
    state = observation = reward = forward = 0.0
    flags = generators = steps = 0
    first: tuple[int, int] | None = None
    for k, seed in enumerate(seeds):
        length = int(theirs["length"][k])
        backwards = False
        for t in range(length + 1):
            gaps = (
                _state_gap(theirs, ours, k, t),
                _gap(theirs["seen"][k, t], ours["seen"][k, t]),
                _gap(theirs["reward"][k, t], ours["reward"][k, t]),
            )
            state, observation, reward = map(max, (state, observation, reward), gaps)
            count = int(theirs["vehicles"][k, t])
            backwards = backwards or bool((theirs["speed"][k, t, :count] < 0).any())
            if not backwards:
                forward = max(forward, *gaps)
            differing = _differing_flags(theirs, ours, k, t)
            flags += differing
            if first is None and (differing or max(gaps) > 0):
                first = (seed, t)
        steps += length
        if length == theirs["reward"].shape[1] - 1:
            generators += int((theirs["generator"][k] != ours["generator"][k]).any())
    return Parity(
        task, len(seeds), steps, state, observation, reward, forward, flags, generators, first
    )


def _state_gap(theirs: dict[str, np.ndarray], ours: dict[str, np.ndarray], k: int, t: int) -> float:
    """Return the largest difference of the vehicles' numbers at step `t` of episode `k`."""
    everyone = np.arange(_shared(theirs, ours, k, t))
    others = everyone[everyone != theirs["ego"][k, t]]  # the ego has no timer and no delta
    largest = 0.0
    for name in recorder.NUMBERS:
        who = others if name in ("delta", "timer") else everyone
        largest = max(largest, _gap(theirs[name][k, t, who], ours[name][k, t, who]))
    return largest


def _differing_flags(
    theirs: dict[str, np.ndarray], ours: dict[str, np.ndarray], k: int, t: int
) -> int:
    shared = _shared(theirs, ours, k, t)
    of_vehicles = sum(
        int((theirs[name][k, t, :shared] != ours[name][k, t, :shared]).sum())
        for name in recorder.FLAGS
    )
    of_scene = sum(
        int(theirs[name][k, t] != ours[name][k, t])
        for name in ("vehicles", "ego", "terminated", "truncated")
    )
    return of_vehicles + of_scene


def _shared(theirs: dict[str, np.ndarray], ours: dict[str, np.ndarray], k: int, t: int) -> int:
    """Return the number of vehicles that both simulators have."""
    return min(int(theirs["vehicles"][k, t]), int(ours["vehicles"][k, t]))
