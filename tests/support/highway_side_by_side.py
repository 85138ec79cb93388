"""highway-env and our simulator beside each other; a script, for a process of its own.

NumPy's arithmetic in it is plain (`parity.plain_environment`), so that equal means equal.
"""

import json
import os
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import highway_env  # noqa: F401  (registers its envs)
import numpy as np

from policy_inertia.envs import highway
from policy_inertia.envs.highway.simulator.records import ROUTE
from policy_inertia.envs.highway.simulator.simulation import Simulation
from policy_inertia.envs.highway.upstream import original as upstream_original
from policy_inertia.envs.highway.upstream.parity import plain_environment

NUMBERS = ("x", "y", "heading", "speed", "target_speed", "steering", "acceleration")
OF_TRAFFIC = ("delta", "timer")
FLAGS = ("crashed", "impacted", "lane", "target_lane", "route_head", "changes_lanes", "yielding")
ALONE = ("vehicles", "obstacles", "ego", "speed_index", "side_lanes", "ticks", "time")
FEW = {"vehicles_count": 12}  # highway-env needs seconds for a step with fifty


def run(*words: str) -> Any:
    """What a function below says when a process of plain arithmetic calls it."""
    environment = os.environ | plain_environment()
    command = [sys.executable, "-m", "tests.support.highway_side_by_side", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def gap(a: Any, b: Any) -> tuple[float, list[str]]:
    """The largest difference of two scenes, and the names of what must be equal and is not."""
    wrong = [name for name in (*ALONE, "rng") if not np.array_equal(a[name], b[name])]
    count = min(a["vehicles"], b["vehicles"])
    who = np.arange(count)
    others = who[who != a["ego"]]
    largest = 0.0
    for name in NUMBERS + OF_TRAFFIC:
        chosen = others if name in OF_TRAFFIC else who
        largest = max(largest, np.abs(a[name][chosen] - b[name][chosen]).max(initial=0))
    for i in who:
        legs = slice(int(a["route_head"][i]), ROUTE)
        if not np.array_equal(a["route"][legs, i], b["route"][legs, i]):
            wrong.append("route")
        if a["impacted"][i]:
            push = [np.abs(a[name][i] - b[name][i]) for name in ("impact_x", "impact_y")]
            largest = max(largest, *push)
    wrong += [name for name in FLAGS if not np.array_equal(a[name][who], b[name][who])]
    things = np.arange(count, count + min(a["obstacles"], b["obstacles"]))
    for name in ("x", "y", "heading", "crashed"):
        if not np.array_equal(a[name][things], b[name][things]):
            wrong.append(f"obstacle's {name}")
    return float(largest), wrong


def together(ours: Any, original: Any, actions: np.ndarray) -> dict[str, Any]:
    """Take the same actions in both, on past the end; how far they come apart."""
    simulation = ours.simulation
    mirror = Simulation(simulation.task, ours.config, 1, len(simulation.scenes["x"][0]))
    told: dict[str, Any] = {"gap": 0.0, "wrong": [], "steps": 0, "crashed": 0}
    for action in actions.tolist():
        try:
            obs, reward, terminated, truncated, _ = original.step(action)
        except ZeroDivisionError:
            break
        simulation.step(np.array([action]))
        upstream_original.read(original, mirror)
        apart, wrong = gap(mirror.scenes[0], simulation.scenes[0])
        outcome = simulation.outcomes[0]
        if terminated != outcome["terminated"] or truncated != outcome["truncated"]:
            wrong.append("ends")
        apart = max(apart, np.abs(obs - simulation.seen[0]).max(), abs(reward - outcome["reward"]))
        if any(vehicle.speed < 0 for vehicle in original.road.vehicles):
            break
        told["gap"] = max(told["gap"], float(apart))
        told["wrong"] += wrong
        told["steps"] += 1
        told["crashed"] = sum(vehicle.crashed for vehicle in original.road.vehicles)
    return told


def upstream(task: str, **settings: Any) -> Any:
    config = dict(FEW) if task == "LaneChange" else {}
    if task == "TwoWay":
        config["observation"] = {"type": "Kinematics"}
    return gym.make(highway.TASKS[task].upstream.id, config=config, **settings).unwrapped


def bridges(task: str) -> dict[str, Any]:
    """Both directions and the way there and back, for several seeds and lengths."""
    found: dict[str, Any] = {"from": [], "to": [], "back": []}
    for seed, before in ((0, 0), (1, 3), (2, 9), (3, 14)):
        draw = np.random.default_rng([seed, before])
        original = upstream(task)
        original.reset(seed=seed)
        n = int(original.action_space.n)
        try:
            for action in draw.integers(n, size=before).tolist():
                original.step(action)
        except ZeroDivisionError:
            continue
        ours = highway.from_upstream(original)
        found["from"].append(together(ours, original, draw.integers(n, size=10)))

        mine = highway.TrafficEnv(task, FEW if task == "LaneChange" else None, "upstream")
        mine.reset(seed=seed)
        for action in draw.integers(n, size=before):
            mine.simulation.step(np.array([action]))
        theirs = highway.to_upstream(mine)
        again = highway.from_upstream(theirs)
        assert again.config == mine.config
        found["back"].append(gap(mine.simulation.scenes[0], again.simulation.scenes[0]))
        found["to"].append(together(mine, theirs, draw.integers(n, size=10)))
    original = upstream(task)
    original.reset(seed=0)
    ours = highway.from_upstream(original)
    original.vehicle.position[0] += 1e-7
    found["nudged"] = together(ours, original, np.ones(2, int))
    return found


def frames(task: str) -> dict[str, Any]:
    """Pixels that differ between highway-env's own picture and ours of the same state."""
    original = upstream(task, render_mode="rgb_array")
    ours = None
    told: dict[str, Any] = {"differing": [], "colours": []}
    for seed in (0, 7):
        original.reset(seed=seed)
        for action in np.random.default_rng(seed).integers(3, size=5).tolist():
            try:
                original.step(action)
            except ZeroDivisionError:
                break
            ours = highway.from_upstream(original, render_mode="rgb_array")
            theirs, mine = upstream_original.draw(original), ours.render()
            told["differing"].append(int((theirs != mine).sum()))
            told["colours"].append(len(np.unique(mine.reshape(-1, 3), axis=0)))
    assert ours is not None
    ours.simulation.scenes["x"][0, ours.simulation.scenes["ego"][0]] += 3
    told["moved"] = int((ours.render() != theirs).sum())
    return told


def originals(task: str, text: str) -> dict[str, Any]:
    """The paper's episodes in both simulators, from the same seeds with the same actions."""
    config = json.loads(text)
    ours, theirs = (kind(task, config) for kind in (highway.TrafficEnv, highway.OriginalEnv))
    told: dict[str, Any] = {"gap": 0.0, "steps": 0, "ends": 0}
    for seed in range(4):
        draw = np.random.default_rng(seed)
        seen, _ = ours.reset(seed=seed)
        seen_there, _ = theirs.reset(seed=seed)
        over = False
        while not over:
            told["gap"] = max(told["gap"], float(np.abs(seen - seen_there).max()))
            action = int(draw.integers(ours.action_space.n))
            seen, reward, *ends, info = ours.step(action)
            seen_there, reward_there, *ends_there, info_there = theirs.step(action)
            assert ends == ends_there, (seed, told)
            assert info == info_there, (info, info_there)
            told["gap"] = max(told["gap"], abs(reward - reward_there))
            told["steps"] += 1
            over = any(ends)
        told["ends"] += 1
    return told


def policies(run_folder: str) -> dict[str, Any]:
    """A trained policy's episodes in both simulators."""
    import policy_inertia as pi

    policy = pi.Policy.load(run_folder)
    name = "policy_inertia/TwoWay-v0"
    found = [
        pi.evaluate(policy, env, 6, seed=3).episodes for env in (name, highway.on_original(name))
    ]
    return {
        "returns": [[episode.return_ for episode in episodes] for episodes in found],
        "actions": [[episode.actions.tolist() for episode in episodes] for episodes in found],
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:]), default=str))
