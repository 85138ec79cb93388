"""Lanes and the network they form, as tables built once in NumPy, and their geometry compiled.

The tables are built from the same expressions as highway-env's, so their numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from policy_inertia.envs.highway.simulator.jit import Record, compiled, inlined

WIDTH = 4.0
VEHICLE_LENGTH = 5.0  # how far before its start and after its end a lane still holds a vehicle
MAX_LANES = 20  # of a network; the intersection has this many

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
        ("phase", np.float64),  # of a sine; where a circular lane starts
        ("radius", np.float64),
        ("turn", np.float64),  # 1 clockwise, -1 counterclockwise
        ("speed_limit", np.float64),
        ("priority", np.int64),
        ("forbidden", np.bool_),
        ("leaving", np.bool_),  # an exit of the intersection
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

LaneIndex = tuple[str, str, int]


class Network(NamedTuple):
    """The tables, in upstream's order of lanes, and where in them a lane of upstream's is."""

    lanes: np.ndarray
    roads: np.ndarray
    numbers: dict[LaneIndex, int]


def straight(
    start: Any, end: Any, speed_limit: float = 20, priority: int = 0, forbidden: bool = False
) -> dict[str, Any]:
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
) -> dict[str, Any]:
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
) -> dict[str, Any]:
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


def network(edges: list[tuple[str, str, dict[str, Any]]]) -> Network:
    """Tables of the lanes in `edges`, ordered as upstream's nested dicts would be walked."""
    graph: dict[str, dict[str, list[dict[str, Any]]]] = {}
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
                row["leaving"] = "il" in origin and "o" in destination
                index[origin, destination, number] = len(index)
            roads.append((*ends, len(index) - len(beside), len(beside)))
    return Network(lanes, np.array(roads, ROAD), index)


def highway(lanes_count: int) -> Network:
    """A straight road of 10 km."""
    start, length, angle = 0.0, 10000.0, 0.0
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    edges = []
    for lane in range(lanes_count):
        origin = rotation @ np.array([start, lane * WIDTH])
        end = rotation @ np.array([start + length, lane * WIDTH])
        edges.append(("0", "1", straight(origin, end, speed_limit=30)))
    return network(edges)


def merge() -> Network:
    """Two lanes, joined from the right by a ramp whose last 80 m run beside them."""
    ends = [150, 80, 80, 150]  # before, converging, beside, after
    edges = []
    for y in (0, 4):
        for (origin, destination), first, last in (("ab", 0, 2), ("bc", 2, 3), ("cd", 3, 4)):
            lane = straight([sum(ends[:first]), y], [sum(ends[:last]), y])
            edges.append((origin, destination, lane))
    amplitude = 3.25
    ramp = straight([0, 6.5 + 4 + 4], [ends[0], 6.5 + 4 + 4], forbidden=True)
    bend = sine(
        _position(ramp, ends[0], -amplitude),
        _position(ramp, sum(ends[:2]), -amplitude),
        amplitude,
        2 * np.pi / (2 * ends[1]),
        np.pi / 2,
        forbidden=True,
    )
    start = _position(bend, ends[1], 0)
    beside = straight(start, start + np.array([ends[2], 0]), forbidden=True)
    edges += [("j", "k", ramp), ("k", "b", bend), ("b", "c", beside)]
    return network(edges)


def two_way(length: float = 800) -> Network:
    """Two lanes that way, of which the left one is also the oncoming traffic's."""
    return network(
        [
            ("a", "b", straight([0, 0], [length, 0])),
            ("a", "b", straight([0, 4], [length, 4])),
            ("b", "a", straight([length, 0], [0, 0])),
        ]
    )


def intersection() -> Network:
    """Four ways in (o to ir), from each a right turn, a left turn and straight on, four ways out.

    The horizontal road has priority: 3 straight on and right, 2 left; the vertical one 1 and 0.
    """
    right_radius = WIDTH + 5
    left_radius = right_radius + WIDTH
    outer = right_radius + WIDTH / 2
    access = 50 + 50
    limit: dict[str, Any] = {"speed_limit": 10.0}
    edges = []
    for corner in range(4):
        angle = np.radians(90 * corner)
        priority = 3 if corner % 2 else 1
        rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        inner, right, left = f"ir{corner}", f"il{(corner - 1) % 4}", f"il{(corner + 1) % 4}"
        start = rotation @ np.array([WIDTH / 2, access + outer])
        end = rotation @ np.array([WIDTH / 2, outer])
        edges.append((f"o{corner}", inner, straight(start, end, priority=priority, **limit)))
        turning_right = circular(
            rotation @ np.array([outer, outer]),
            right_radius,
            angle + np.radians(180),
            angle + np.radians(270),
            priority=priority,
            **limit,
        )
        turning_left = circular(
            rotation @ np.array([-left_radius + WIDTH / 2, left_radius - WIDTH / 2]),
            left_radius,
            angle + np.radians(0),
            angle + np.radians(-90),
            clockwise=False,
            priority=priority - 1,
            **limit,
        )
        start = rotation @ np.array([WIDTH / 2, outer])
        end = rotation @ np.array([WIDTH / 2, -outer])
        through = straight(start, end, priority=priority, **limit)
        edges += [
            (inner, right, turning_right),
            (inner, left, turning_left),
            (inner, f"il{(corner + 2) % 4}", through),
        ]
        start = rotation @ np.flip([WIDTH / 2, access + outer], axis=0)
        end = rotation @ np.flip([WIDTH / 2, outer], axis=0)
        way_out = straight(end, start, priority=priority, **limit)
        edges.append((right, f"o{(corner - 1) % 4}", way_out))
    return network(edges)


def _position(lane: dict[str, Any], longitudinal: float, lateral: float) -> np.ndarray:
    if lane["kind"] == SINE:
        lateral += lane["amplitude"] * np.sin(lane["pulsation"] * longitudinal + lane["phase"])
    start = np.array([lane["start_x"], lane["start_y"]])
    direction = np.array([lane["direction_x"], lane["direction_y"]])
    return start + longitudinal * direction + lateral * np.array([-direction[1], direction[0]])


@inlined
def wrap(angle: float) -> float:
    """`((angle + pi) % (2 pi)) - pi`; within a turn of the range the modulo is a sum, exactly."""
    turn = 2 * math.pi
    shifted = angle + math.pi
    if 0.0 <= shifted < turn:
        return shifted - math.pi
    if -turn < shifted < 0.0:
        return (shifted + turn) - math.pi
    return (shifted % turn) - math.pi


@inlined
def coordinates(lane: Record, x: float, y: float) -> tuple[float, float]:
    """Where a point is along the lane and to the side of it."""
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
    """The point on the middle of the lane."""
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
    """How far a point is from the lane, with the distance to either end added."""
    return abs(lateral) + max(longitudinal - lane.length, 0.0) + max(0.0 - longitudinal, 0.0)


@inlined
def holds(lane: Record, longitudinal: float, lateral: float, margin: float) -> bool:
    """Whether a point is on the lane."""
    return (
        abs(lateral) <= WIDTH / 2 + margin
        and -VEHICLE_LENGTH <= longitudinal < lane.length + VEHICLE_LENGTH
    )


@inlined
def reachable(lane: Record, longitudinal: float, lateral: float) -> bool:
    return (
        not lane.forbidden
        and abs(lateral) <= 2 * WIDTH
        and 0.0 <= longitudinal < lane.length + VEHICLE_LENGTH
    )


@compiled
def _lane_on(
    lanes: np.ndarray, roads: np.ndarray, current: int, road: int, x: float, y: float
) -> tuple[int, float]:
    """The lane to take on the next road, and its distance from a point."""
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
    """The lane that follows `current`: on the planned lane's road, or (-1) on the nearest one.

    A lane that leads nowhere is followed for ever.
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
