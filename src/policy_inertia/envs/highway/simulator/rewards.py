"""What a decision of the ego comes to: the ticks until the next one, its reward, and the ends."""

from __future__ import annotations

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined
from policy_inertia.envs.highway.simulator.lanes import holds
from policy_inertia.envs.highway.simulator.records import LANE_CHANGE, MERGE, TWO_WAY
from policy_inertia.envs.highway.simulator.traffic import tick
from policy_inertia.envs.highway.simulator.vehicles import clip, decide

_MERGING = 4  # the ramp's last lane, in the order of the network's table
_MERGE_END = 370
_EXIT_DISTANCE = 25
_COST_PERIOD = 15  # steps; how upstream of the paper's time weighed the left lane


@compiled
def step(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record, action: int, outcome: Record
) -> None:
    """One decision of the ego and the ticks until the next."""
    scene.time += task.decision_time
    decide(scene, lanes, roads, task, task.actions[action])
    for _ in range(task.frames):
        tick(scene, lanes, roads, task)
    judge(scene, lanes, roads, task, action, outcome)


@compiled
def judge(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record, action: int, outcome: Record
) -> None:
    """The reward of the action that led to this state, and whether the episode ends in it."""
    report(scene, lanes, task, outcome)
    outcome.reward = _reward(scene, lanes, roads, task, action, outcome.arrived)
    outcome.terminated = outcome.crashed or outcome.arrived
    if task.kind == MERGE and scene.x[scene.ego] > _MERGE_END:
        outcome.terminated = True
    if task.offroad_terminal and not _on_road(scene, lanes):
        outcome.terminated = True
    outcome.truncated = scene.time >= task.duration
    scene.running = not (outcome.terminated or outcome.truncated)


@compiled
def report(scene: Record, lanes: np.ndarray, task: Record, outcome: Record) -> None:
    """What `info` tells of the ego."""
    ego = scene.ego
    lane = scene.lane[ego]
    outcome.crashed = scene.crashed[ego] != 0
    outcome.arrived = lanes[lane].leaving and scene.along[lane, ego] >= _EXIT_DISTANCE
    outcome.speed = scene.speed[ego]
    outcome.lane = lanes[lane].number
    on_left = 1.0 if lanes[lane].number == 0 else 0.0
    outcome.cost = scene.crashed[ego] + task.left_lane_constraint * on_left / _COST_PERIOD


@inlined
def _on_road(scene: Record, lanes: np.ndarray) -> bool:
    lane = scene.lane[scene.ego]
    return holds(lanes[lane], scene.along[lane, scene.ego], scene.beside[lane, scene.ego], 0.0)


@compiled
def _reward(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record, action: int, arrived: bool
) -> float:
    """Weighted sums, with upstream's order of terms and its ways of normalising them."""
    if task.kind == LANE_CHANGE:
        return _lane_change_reward(scene, lanes, roads, task, action)
    if task.kind == MERGE:
        return _merge_reward(scene, lanes, task, action)
    if task.kind == TWO_WAY:
        return _two_way_reward(scene, lanes, roads, task)
    return _intersection_reward(scene, lanes, task, arrived)


@inlined
def _normalized(value: float, low: float, high: float) -> float:
    """Upstream's `lmap` of [low, high] to [0, 1]."""
    return (value - low) * 1 / (high - low)


@inlined
def _fast(scene: Record, task: Record, speed: float) -> float:
    """How fast the ego is, in shares of the range that is rewarded."""
    if task.speed_reward_by_index:
        return scene.speed_index / (task.target_speeds_count - 1)
    return _normalized(speed, task.reward_speed_low, task.reward_speed_high)


@inlined
def _changing(action: int) -> float:
    """The intent counts, even if it is in vain."""
    return 1.0 if action in (0, 2) else 0.0


@inlined
def _lane_change_reward(
    scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record, action: int
) -> float:
    ego = scene.ego
    sides = roads[lanes[scene.lane[ego]].road].lanes
    target = lanes[scene.target_lane[ego]].number
    forward = scene.speed[ego] * scene.cos[ego]
    reward = task.collision_reward * float(scene.crashed[ego])
    reward += task.right_lane_reward * (target / max(sides - 1, 1))
    reward += task.high_speed_reward * clip(_fast(scene, task, forward), 0.0, 1.0)
    reward += task.lane_change_reward * _changing(action)
    if task.normalize_reward:
        best = task.high_speed_reward + task.right_lane_reward
        reward = _normalized(reward, task.collision_reward, best)
    return reward if _on_road(scene, lanes) else 0.0


@inlined
def _merge_reward(scene: Record, lanes: np.ndarray, task: Record, action: int) -> float:
    ego = scene.ego
    slowed_down = 0.0  # who merges, in shares of the speed that they want
    for i in range(scene.vehicles):
        # who wants to stand still is not slowed down; upstream divides by zero
        if scene.lane[i] == _MERGING and scene.target_speed[i] != 0.0:
            slowed_down += (scene.target_speed[i] - scene.speed[i]) / scene.target_speed[i]
    reward = task.collision_reward * float(scene.crashed[ego])
    reward += task.right_lane_reward * lanes[scene.lane[ego]].number
    reward += task.high_speed_reward * _fast(scene, task, scene.speed[ego])
    reward += task.lane_change_reward * _changing(action)
    reward += task.merging_speed_reward * slowed_down
    worst = task.collision_reward + task.merging_speed_reward
    return _normalized(reward, worst, task.high_speed_reward + task.right_lane_reward)


@inlined
def _two_way_reward(scene: Record, lanes: np.ndarray, roads: np.ndarray, task: Record) -> float:
    ego = scene.ego
    reward = task.collision_reward * float(scene.crashed[ego])
    reward += task.high_speed_reward * (scene.speed_index / (task.target_speeds_count - 1))
    last = roads[lanes[scene.lane[ego]].road].lanes - 1
    if last > 0:  # upstream divides by zero where the ego is closest to the oncoming lane
        left = last - lanes[scene.target_lane[ego]].number
        reward += task.left_lane_reward * (left / last)
    return reward


@inlined
def _intersection_reward(scene: Record, lanes: np.ndarray, task: Record, arrived: bool) -> float:
    ego = scene.ego
    reward = task.collision_reward * float(scene.crashed[ego])
    reward += task.high_speed_reward * clip(_fast(scene, task, scene.speed[ego]), 0.0, 1.0)
    if arrived:
        reward = task.arrived_reward
    if not _on_road(scene, lanes):
        reward = 0.0
    if task.normalize_reward:
        reward = _normalized(reward, task.collision_reward, task.arrived_reward)
    return reward
