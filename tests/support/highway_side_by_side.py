"""highway-env and our simulator side by side; `run` calls the functions in another process.

NumPy's arithmetic is plain there (`parity.plain_environment`), so that equal means equal.
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
from policy_inertia.envs.highway.upstream.configuration import counterpart
from policy_inertia.envs.highway.upstream.original import draw, read
from policy_inertia.envs.highway.upstream.parity import plain_environment

NUMBERS = ("x", "y", "heading", "speed", "target_speed", "steering", "acceleration")
OF_TRAFFIC = ("delta", "timer")
FLAGS = ("crashed", "impacted", "lane", "target_lane", "route_head", "changes_lanes", "yielding")
OF_SCENE = ("vehicles", "obstacles", "ego", "speed_index", "side_lanes", "ticks", "time")
FEW = {"vehicles_count": 12}  # highway-env needs seconds for a step with fifty


def run(function: str, *arguments: str) -> Any:
    """Call a function of this file in a process with plain arithmetic; return what it returns."""
    environment = os.environ | plain_environment()
    command = [sys.executable, "-m", "tests.support.highway_side_by_side", function, *arguments]
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


def difference(a: Any, b: Any) -> tuple[float, list[str]]:
    """Return the largest difference of two scenes, and the names of flags that differ."""
    wrong = [name for name in (*OF_SCENE, "rng") if not np.array_equal(a[name], b[name])]
    count = min(a["vehicles"], b["vehicles"])
    everyone = np.arange(count)
    others = everyone[everyone != a["ego"]]
    largest = 0.0
    for name in NUMBERS + OF_TRAFFIC:
        chosen = others if name in OF_TRAFFIC else everyone
        largest = max(largest, np.abs(a[name][chosen] - b[name][chosen]).max(initial=0))
    for i in everyone:
        legs = slice(int(a["route_head"][i]), ROUTE)
        if not np.array_equal(a["route"][legs, i], b["route"][legs, i]):
            wrong.append("route")
        if a["impacted"][i]:
            push = [np.abs(a[name][i] - b[name][i]) for name in ("impact_x", "impact_y")]
            largest = max(largest, *push)
    wrong += [name for name in FLAGS if not np.array_equal(a[name][everyone], b[name][everyone])]
    obstacles = np.arange(count, count + min(a["obstacles"], b["obstacles"]))
    for name in ("x", "y", "heading", "crashed"):
        if not np.array_equal(a[name][obstacles], b[name][obstacles]):
            wrong.append(f"obstacle's {name}")
    return float(largest), wrong


def compare(ours: Any, original: Any, actions: np.ndarray) -> dict[str, Any]:
    """Take the same actions in both envs, ended or not; return how much they differ."""
    simulation = ours.simulation
    mirror = Simulation(simulation.task, ours.config, 1, len(simulation.scenes["x"][0]))
    report: dict[str, Any] = {"difference": 0.0, "wrong": [], "steps": 0, "crashed": 0}
    for action in actions:
        try:
            obs, reward, terminated, truncated, _ = original.step(action)
        except ZeroDivisionError:
            break
        simulation.step(np.array([action]))
        read(original, mirror)
        largest, wrong = difference(mirror.scenes[0], simulation.scenes[0])
        outcome = simulation.outcomes[0]
        if terminated != outcome["terminated"] or truncated != outcome["truncated"]:
            wrong.append("ends")
        largest = max(
            largest, np.abs(obs - simulation.seen[0]).max(), abs(reward - outcome["reward"])
        )
        if any(vehicle.speed < 0 for vehicle in original.road.vehicles):
            break
        report["difference"] = max(report["difference"], float(largest))
        report["wrong"] += wrong
        report["steps"] += 1
        report["crashed"] = sum(vehicle.crashed for vehicle in original.road.vehicles)
    return report


def upstream_env(task: str, **settings: Any) -> Any:
    """Return highway-env's env for a task, with the Kinematics observation."""
    config: dict[str, Any] = dict(FEW) if task == "LaneChange" else {}
    if task == "TwoWay":
        config["observation"] = {"type": "Kinematics"}
    return gym.make(counterpart(highway.TASKS[task]).id, config=config, **settings).unwrapped


def bridges(task: str) -> dict[str, Any]:
    """Cross the bridge in both directions and back, for several seeds and lengths."""
    report: dict[str, Any] = {"from": [], "to": [], "back": []}
    for seed, before in ((0, 0), (1, 3), (2, 9), (3, 14)):
        rng = np.random.default_rng([seed, before])
        original = upstream_env(task)
        original.reset(seed=seed)
        n = int(original.action_space.n)
        try:
            for action in rng.integers(n, size=before).tolist():
                original.step(action)
        except ZeroDivisionError:
            continue
        ours = highway.from_upstream(original)
        report["from"].append(compare(ours, original, rng.integers(n, size=10)))

        ours = highway.TrafficEnv(task, FEW if task == "LaneChange" else None, "upstream")
        ours.reset(seed=seed)
        for action in rng.integers(n, size=before):
            ours.simulation.step(np.array([action]))
        theirs = highway.to_upstream(ours)
        again = highway.from_upstream(theirs)
        assert again.config == ours.config
        report["back"].append(difference(ours.simulation.scenes[0], again.simulation.scenes[0]))
        report["to"].append(compare(ours, theirs, rng.integers(n, size=10)))
    original = upstream_env(task)
    original.reset(seed=0)
    ours = highway.from_upstream(original)
    original.vehicle.position[0] += 1e-7
    report["nudged"] = compare(ours, original, np.ones(2, int))
    return report


def frames(task: str) -> dict[str, Any]:
    """Count the pixels that differ between highway-env's image and ours of the same state."""
    original = upstream_env(task, render_mode="rgb_array")
    report: dict[str, Any] = {"differing": [], "colours": [], "moved": []}
    for seed in (0, 7):
        original.reset(seed=seed)
        for action in np.random.default_rng(seed).integers(3, size=5).tolist():
            try:
                original.step(action)
            except ZeroDivisionError:
                break
            ours = highway.from_upstream(original, render_mode="rgb_array")
            image, expected = np.asarray(ours.render()), np.asarray(draw(original))
            report["differing"].append(int((image != expected).sum()))
            report["colours"].append(len(np.unique(image.reshape(-1, 3), axis=0)))
            ours.simulation.scenes["x"][0, ours.simulation.scenes["ego"][0]] += 3
            report["moved"].append(int((np.asarray(ours.render()) != expected).sum()))
    return report


def originals(task: str, config: str) -> dict[str, Any]:
    """Run the paper's episodes in both simulators, with the same seeds and actions."""
    settings = json.loads(config)
    ours, theirs = (kind(task, settings) for kind in (highway.TrafficEnv, highway.OriginalEnv))
    report: dict[str, Any] = {"difference": 0.0, "steps": 0, "ends": 0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        obs, _ = ours.reset(seed=seed)
        expected, _ = theirs.reset(seed=seed)
        over = False
        while not over:
            report["difference"] = max(report["difference"], float(np.abs(obs - expected).max()))
            action = int(rng.integers(ours.simulation.actions_count))
            obs, reward, *ends, info = ours.step(action)
            expected, expected_reward, *expected_ends, expected_info = theirs.step(action)
            assert ends == expected_ends, (seed, report)
            assert info == expected_info, (info, expected_info)
            report["difference"] = max(report["difference"], abs(reward - expected_reward))
            report["steps"] += 1
            over = any(ends)
        report["ends"] += 1
    return report


def pilots(seed: int, steps: int) -> np.ndarray:
    """Return the continuous actions of one episode: one of six ways to drive."""
    rng, time = np.random.default_rng(seed), np.arange(steps)
    box = rng.uniform(-1.2, 1.2, (steps, 2))  # some are outside the box
    constant = np.ones((steps, 2))
    ways = [
        box,
        box * [1, 0.02],  # stays near the road
        constant * [0.3, 0],  # hits the vehicle ahead
        np.stack([0.1 + 0 * time, np.sin(time) * 0.04], axis=1),  # swerves over both lanes
        constant * [-1, 0.01],  # brakes, then drives backwards
        constant * [-0.5, 1],  # turns around
    ]
    return ways[seed % len(ways)].astype(np.float32)


def continuous_episodes(task: str, config: str, seeds: str) -> dict[str, Any]:
    """Run whole episodes with continuous actions in both simulators, from each scenario."""
    report: dict[str, Any] = {"episodes": 0, "unequal": []}
    report |= dict.fromkeys(("crashes", "off_road", "backwards", "turned"), 0)
    for settings in json.loads(config):
        ours, theirs = (kind(task, settings) for kind in (highway.TrafficEnv, highway.OriginalEnv))
        for seed in range(int(seeds)):
            same = [np.array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])]
            for action in pilots(seed, 100):
                obs, *rest = ours.step(action)
                expected, *expected_rest = theirs.step(action)
                same += [np.array_equal(obs, expected), rest == expected_rest]
                if any(rest[1:3]):
                    break
            mirror = Simulation(ours.simulation.task, ours.config, 1)
            read(theirs._original(), mirror)
            largest, wrong = difference(mirror.scenes[0], ours.simulation.scenes[0])
            ego = theirs._original().vehicle
            report["episodes"] += 1
            report["crashes"] += int(ego.crashed)
            report["off_road"] += int(not ego.on_road)
            report["backwards"] += int(ego.speed < 0)
            report["turned"] += int(np.cos(ego.heading) < 0)
            if largest > 0 or wrong or not all(same):
                report["unequal"].append([settings, seed, largest, wrong])
    return report


def continuous_bridges(task: str, config: str) -> dict[str, Any]:
    """Cross the bridge with continuous actions, and go on in both simulators."""
    report: dict[str, Any] = {"to": [], "same_config": []}
    for seed, before in ((0, 0), (1, 5)):
        ours = highway.TrafficEnv(task, json.loads(config), "upstream")
        ours.reset(seed=seed)
        actions = pilots(seed, before + 8)
        for action in actions[:before]:
            ours.step(action)
        theirs = highway.to_upstream(ours)
        again = highway.from_upstream(theirs)
        report["same_config"].append(again.config == ours.config)
        report["to"].append(compare(again, theirs, actions[before:]))
    theirs.vehicle.position[0] += 1e-7
    report["nudged"] = compare(again, theirs, actions[:2])
    return report


def policies(run_folder: str) -> dict[str, Any]:
    """Run a trained policy's episodes in both simulators."""
    import policy_inertia as pi

    policy = pi.Policy.load(run_folder)
    name = "policy_inertia/TwoWay-v0"
    both_episodes = [
        pi.evaluate(policy, env, 6, seed=3).episodes for env in (name, highway.on_original(name))
    ]
    return {
        "returns": [[episode.return_ for episode in episodes] for episodes in both_episodes],
        "actions": [[e.actions.tolist() for e in episodes] for episodes in both_episodes],
    }


def shipped(*names: str) -> dict[str, Any]:
    """Evaluate policies of the package in both simulators: two greedy episodes each."""
    import policy_inertia as pi

    figures = {}
    for name in names:
        policy = pi.Policy.load(name)
        if policy.traits.dial:
            policy = policy.with_budget(0.2)
        figures[name] = [
            pi.evaluate(policy, env, 2, 0, True, policy.env_kwargs).summary()
            for env in (policy.task, highway.on_original(policy.task))
        ]
    return figures


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:]), default=str))
