"""Lanes and the road network: tables built once in NumPy, and their geometry compiled.

The tables are built from the same expressions as in highway-env, so their numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined
from policy_inertia.errors import InputError

WIDTH = 4.0
VEHICLE_LENGTH = 5.0  # a vehicle is on a lane up to this far before its start and after its end
MAX_LANES = 20  # of a network; the intersection needs them all

STRAIGHT, SINE, CIRCULAR = 0, 1, 2

LANE = np.dtype(
    [
        ("kind", np.int64),
        ("start_x", np.float64),  # the centre of a circular lane
        ("start_y", np.float64),
        ("direction_x", np.float64),
        ("direction_y", np.float64),
        ("lateral_x", np.float64),
        ("lateral_y", np.float64),
        ("heading", np.float64),
        ("length", np.float64),
        ("amplitude", np.float64),
        ("pulsation", np.float64),
        ("phase", np.float64),  # of a sine; the angle at which a circular lane starts
        ("radius", np.float64),
        ("turn", np.float64),  # 1 clockwise, -1 counterclockwise
        ("speed_limit", np.float64),
        ("priority", np.int64),
        ("forbidden", np.bool_),
        ("leaving", np.bool_),  # vehicles leave the scene at its end
        ("road", np.int64),
        ("number", np.int64),  # on its road, from the left
    ],
    align=True,
)
ROAD = np.dtype(
    [
        ("origin", np.int64),
        ("destination", np.int64),
        ("first", np.int64),  # its leftmost lane
        ("lanes", np.int64),
    ],
    align=True,
)

Lane = dict[str, Any]  # a row of LANE by the names of its fields
LaneIndex = tuple[str, str, int]


class Network(NamedTuple):
    """The tables of lanes and roads; `numbers` gives a lane's row by highway-env's index."""

    lanes: np.ndarray
    roads: np.ndarray
    numbers: dict[LaneIndex, int]


def straight(
    start: Any, end: Any, speed_limit: float = 20, priority: int = 0, forbidden: bool = False
) -> Lane:
    """Return a straight lane; `forbidden` means that no vehicle may change to it."""
    start, end = np.array(start), np.array(end)
    length = np.linalg.norm(end - start)
    direction = (end - start) / length
    return {
        "kind": STRAIGHT,
        "start_x": start[0],
        "start_y": start[1],
        "direction_x": direction[0],
        "direction_y": direction[1],
        "lateral_x": -direction[1],
        "lateral_y": direction[0],
        "heading": np.arctan2(end[1] - start[1], end[0] - start[0]),
        "length": length,
        "speed_limit": speed_limit,
        "priority": priority,
        "forbidden": forbidden,
    }


def sine(
    start: Any, end: Any, amplitude: float, pulsation: float, phase: float, forbidden: bool = False
) -> Lane:
    """Return a lane that swings around the straight line from `start` to `end`."""
    wave = {"kind": SINE, "amplitude": amplitude, "pulsation": pulsation, "phase": phase}
    return straight(start, end, forbidden=forbidden) | wave


def circular(
    centre: Any,
    radius: float,
    start_phase: float,
    end_phase: float,
    clockwise: bool = True,
    speed_limit: float = 20,
    priority: int = 0,
) -> Lane:
    """Return an arc around `centre`; the phases are its angles at both ends."""
    turn = 1 if clockwise else -1
    return {
        "kind": CIRCULAR,
        "start_x": centre[0],
        "start_y": centre[1],
        "radius": radius,
        "phase": start_phase,
        "turn": turn,
        "length": radius * (end_phase - start_phase) * turn,
        "speed_limit": speed_limit,
        "priority": priority,
    }


def network(edges: list[tuple[str, str, Lane]]) -> Network:
    """Return the tables of the lanes in `edges`, in the order in which highway-env lists them.

    Args:
        edges: for each lane the node it starts at, the node it ends at, and the lane itself, as
            `straight`, `sine` or `circular` returns it. Lanes with the same two nodes are
            beside each other, from the left to the right.
    """
    if len(edges) > MAX_LANES:
        raise InputError(f"a network has at most {MAX_LANES} lanes, got {len(edges)}")
    graph: dict[str, dict[str, list[Lane]]] = {}
    for origin, destination, lane in edges:
        graph.setdefault(origin, {}).setdefault(destination, []).append(lane)
    nodes: dict[str, int] = {}
    lanes = np.zeros(len(edges), LANE)
    roads: list[tuple[int, ...]] = []
    index: dict[LaneIndex, int] = {}
    for origin, destinations in graph.items():
        for destination, beside in destinations.items():
            ends = [nodes.setdefault(node, len(nodes)) for node in (origin, destination)]
            for number, lane in enumerate(beside):
                row = lanes[len(index)]
                for name, value in lane.items():
                    row[name] = value
                row["road"], row["number"] = len(roads), number
                index[origin, destination, number] = len(index)
            roads.append((*ends, len(index) - len(beside), len(beside)))
    return Network(lanes, np.array(roads, ROAD), index)


def position(lane: Lane, longitudinal: float, lateral: float) -> np.ndarray:
    """Return the point with these coordinates on a straight lane or a sine."""
    if lane["kind"] == SINE:
        lateral += lane["amplitude"] * np.sin(lane["pulsation"] * longitudinal + lane["phase"])
    start = np.array([lane["start_x"], lane["start_y"]])
    direction = np.array([lane["direction_x"], lane["direction_y"]])
    return start + longitudinal * direction + lateral * np.array([-direction[1], direction[0]])


@inlined
def wrap(angle: float) -> float:
    """Return `((angle + pi) % (2 pi)) - pi`, without the modulo where a sum is exactly equal."""
    turn = 2 * math.pi
    shifted = angle + math.pi
    if 0.0 <= shifted < turn:
        return shifted - math.pi
    if -turn < shifted < 0.0:
        return (shifted + turn) - math.pi
    return (shifted % turn) - math.pi


@inlined
def coordinates(lane: Record, x: float, y: float) -> tuple[float, float]:
    """Return how far a point is along the lane and to the side of its middle."""
    dx, dy = x - lane.start_x, y - lane.start_y
    if lane.kind == CIRCULAR:
        phase = lane.phase + wrap(math.atan2(dy, dx) - lane.phase)
        longitudinal = lane.turn * (phase - lane.phase) * lane.radius
        return longitudinal, lane.turn * (lane.radius - math.sqrt(dx * dx + dy * dy))
    longitudinal = dx * lane.direction_x + dy * lane.direction_y
    lateral = dx * lane.lateral_x + dy * lane.lateral_y
    if lane.kind == SINE:
        lateral -= lane.amplitude * math.sin(lane.pulsation * longitudinal + lane.phase)
    return longitudinal, lateral


@inlined
def centre(lane: Record, longitudinal: float) -> tuple[float, float]:
    """Return a point on the middle of the lane."""
    if lane.kind == CIRCULAR:
        phase = lane.turn * longitudinal / lane.radius + lane.phase
        return (
            lane.start_x + lane.radius * math.cos(phase),
            lane.start_y + lane.radius * math.sin(phase),
        )
    x = lane.start_x + longitudinal * lane.direction_x
    y = lane.start_y + longitudinal * lane.direction_y
    if lane.kind == SINE:
        lateral = lane.amplitude * math.sin(lane.pulsation * longitudinal + lane.phase)
        return x + lateral * lane.lateral_x, y + lateral * lane.lateral_y
    return x, y


@inlined
def heading_at(lane: Record, longitudinal: float) -> float:
    """Return the direction of the lane at a point."""
    if lane.kind == CIRCULAR:
        phase = lane.turn * longitudinal / lane.radius + lane.phase
        return phase + math.pi / 2 * lane.turn
    if lane.kind == SINE:
        slope = lane.amplitude * lane.pulsation
        return lane.heading + math.atan(
            slope * math.cos(lane.pulsation * longitudinal + lane.phase)
        )
    return lane.heading


@inlined
def distance(lane: Record, longitudinal: float, lateral: float) -> float:
    """Return how far a point is from the lane: to the side, plus beyond either end."""
    return abs(lateral) + max(longitudinal - lane.length, 0.0) + max(0.0 - longitudinal, 0.0)


@inlined
def holds(lane: Record, longitudinal: float, lateral: float, margin: float) -> bool:
    """Return whether a point is on the lane."""
    return (
        abs(lateral) <= WIDTH / 2 + margin
        and -VEHICLE_LENGTH <= longitudinal < lane.length + VEHICLE_LENGTH
    )


@inlined
def reachable(lane: Record, longitudinal: float, lateral: float) -> bool:
    """Return whether a vehicle at a point may change to the lane."""
    return (
        not lane.forbidden
        and abs(lateral) <= 2 * WIDTH
        and 0.0 <= longitudinal < lane.length + VEHICLE_LENGTH
    )


@compiled
def _lane_on(
    lanes: np.ndarray, roads: np.ndarray, current: int, road: int, x: float, y: float
) -> tuple[int, float]:
    """Return the lane to take on the next road, and its distance from a point."""
    number = lanes[current].number
    if roads[lanes[current].road].lanes != roads[road].lanes:
        nearest = np.inf
        for candidate in range(roads[road].lanes):
            lane = lanes[roads[road].first + candidate]
            longitudinal, lateral = coordinates(lane, x, y)
            away = distance(lane, longitudinal, lateral)
            if away < nearest:
                nearest, number = away, candidate
    chosen = roads[road].first + number
    longitudinal, lateral = coordinates(lanes[chosen], x, y)
    return chosen, distance(lanes[chosen], longitudinal, lateral)


@compiled
def lane_after(
    lanes: np.ndarray, roads: np.ndarray, current: int, planned: int, longitudinal: float
) -> int:
    """Return the lane that follows `current`.

    It is on the road of the lane `planned`, or on the nearest road if `planned` is -1. Without a
    next road the vehicle stays on `current`.
    """
    x, y = centre(lanes[current], longitudinal)
    if planned >= 0:
        return _lane_on(lanes, roads, current, lanes[planned].road, x, y)[0]
    following, nearest = current, np.inf
    node = roads[lanes[current].road].destination
    for road in range(len(roads)):
        if roads[road].origin == node:
            lane, away = _lane_on(lanes, roads, current, road, x, y)
            if away < nearest:
                following, nearest = lane, away
    return following
