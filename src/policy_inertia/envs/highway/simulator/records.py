"""The records that compiled code works on: a scene, a task's settings, the outcome of a step."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from policy_inertia.envs.highway.simulator.generator import STATE_SIZE
from policy_inertia.envs.highway.simulator.lanes import MAX_LANES

LEFT, IDLE, RIGHT, FASTER, SLOWER = 0, 1, 2, 3, 4  # meta-actions
NOBODY = -1

ROUTE = 3  # lanes of a route: into the intersection, across and out
PREDICTIONS = 11  # points of a trajectory that the right of way is decided by
MAX_TARGET_SPEEDS, MAX_FEATURES, MAX_ACTIONS = 16, 16, 5
# Code is compiled for each size of a scene, so there are few sizes. The smallest has room for a
# full intersection (about 60 vehicles) and for highway-env's highway.
CAPACITIES = (96, 256, 1024)


@functools.cache
def scene_dtype(capacity: int) -> np.dtype:
    """Return the type of one env's whole state, its random generator included.

    Arrays are over vehicles, in the order of highway-env's list; the obstacles follow the vehicles.
    `along`, `beside` and `lane` are a vehicle's coordinates on each lane and its closest lane. They
    are computed when the vehicle moves.
    """
    number, whole, flag = np.float64, np.int64, np.uint8  # Numba cannot nest arrays of bool
    over_vehicles = {
        number: "x y heading cos sin speed steering acceleration impact_x impact_y "
        "target_speed delta timer",
        whole: "lane target_lane route_head",
        flag: "crashed impacted changes_lanes yielding",
    }
    return np.dtype(
        [
            ("vehicles", whole),
            ("obstacles", whole),
            ("ego", whole),
            ("speed_index", whole),  # the ego's target speed
            ("side_lanes", whole),  # of the ego's first road: an observation's y is scaled by them
            ("ticks", whole),
            ("time", number),
            ("running", flag),
            ("rng", np.uint64, (STATE_SIZE,)),
            *(
                (name, kind, (capacity,))
                for kind, names in over_vehicles.items()
                for name in names.split()
            ),
            ("route", whole, (ROUTE, capacity)),
            ("along", number, (MAX_LANES, capacity)),
            ("beside", number, (MAX_LANES, capacity)),
            ("future", number, (3, PREDICTIONS, capacity)),  # predicted x, y and heading
        ],
        align=True,
    )


# The settings that all tasks have, as compiled code reads them; `task_tables.py` fills them in.
_COMMON = [
    # time
    ("dt", np.float64),
    ("frames", np.int64),
    ("decision_time", np.float64),
    ("duration", np.float64),
    # the ego
    ("actions", np.int64, (MAX_ACTIONS,)),
    ("actions_count", np.int64),
    ("target_speeds", np.float64, (MAX_TARGET_SPEEDS,)),
    ("target_speeds_count", np.int64),
    ("continuous", np.bool_),  # actions are acceleration and steering; the ego has no targets
    ("ego_speed_low", np.float64),  # with continuous actions: outside of it the ego is slowed down
    ("ego_speed_high", np.float64),
    # traffic
    ("distance_wanted", np.float64),
    ("comfort_acceleration", np.float64),
    ("comfort_braking", np.float64),
    ("idm_speed_limit", np.bool_),
    ("regulation_period", np.int64),  # ticks between decisions on the right of way; 0: none
    ("vehicles_low", np.int64),
    ("vehicles_high", np.int64),
    ("warm_up", np.int64),  # ticks that traffic drives before the episode begins
    # rewards and ends
    ("collision_reward", np.float64),
    ("high_speed_reward", np.float64),
    ("reward_speed_low", np.float64),
    ("reward_speed_high", np.float64),
    ("speed_reward_by_index", np.bool_),
    ("offroad_terminal", np.bool_),
    # the observation
    ("features", np.int64, (MAX_FEATURES,)),
    ("features_low", np.float64, (MAX_FEATURES,)),
    ("features_high", np.float64, (MAX_FEATURES,)),
    ("scale_y_by_lanes", np.bool_),
    ("absolute", np.bool_),
    ("normalize", np.bool_),
    ("clip", np.bool_),
    ("see_behind", np.bool_),
    ("include_obstacles", np.bool_),
]
_KINDS = {float: np.float64, int: np.int64, bool: np.bool_}


def settings_dtype(fields: Mapping[str, type]) -> np.dtype:
    """Return the type of a task's settings: the common ones, and the task's own `fields`."""
    own = [(name, _KINDS[kind]) for name, kind in fields.items()]
    return np.dtype([*_COMMON, *own], align=True)


# of one step of one env
OUTCOME = np.dtype(
    [
        ("reward", np.float64),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
        ("crashed", np.bool_),
        ("arrived", np.bool_),
        ("speed", np.float64),
        ("lane", np.int64),
        ("cost", np.float64),
    ],
    align=True,
)
