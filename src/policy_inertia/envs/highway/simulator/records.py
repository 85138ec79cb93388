"""The records that compiled code works on: a scene, a task's settings, and what a step gave."""

from __future__ import annotations

import functools

import numpy as np

from policy_inertia.envs.highway.simulator.generator import WORDS
from policy_inertia.envs.highway.simulator.lanes import MAX_LANES

LANE_CHANGE, MERGE, INTERSECTION, TWO_WAY = 0, 1, 2, 3  # kinds of task
LEFT, IDLE, RIGHT, FASTER, SLOWER = 0, 1, 2, 3, 4  # meta-actions
NOBODY = -1

ROUTE = 3  # lanes of a route: in, across and out of the intersection
PREDICTIONS = 11  # points of a trajectory that the road's rules look at
MAX_TARGET_SPEEDS, MAX_FEATURES, MAX_ACTIONS = 16, 16, 5
# Compiled code is made for a size of scene, so there are few sizes. The smallest holds a full
# intersection (about 60 vehicles) and upstream's highway.
CAPACITIES = (96, 256, 1024)


@functools.cache
def scene_dtype(capacity: int) -> np.dtype:
    """One env's whole state, its generator included.

    Arrays are over vehicles, in upstream's order of the list; the road's obstacles follow them.
    What lanes make of a position (`along`, `beside`, `lane`) is kept from when it moved.
    """
    number, whole, flag = np.float64, np.int64, np.uint8  # Numba nests no arrays of bool
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
            ("speed_index", whole),  # of the ego
            ("side_lanes", whole),  # on the ego's road at the first observation, which scales y
            ("ticks", whole),
            ("time", number),
            ("running", flag),
            ("rng", np.uint64, (WORDS,)),
            *(
                (n, kind, (capacity,))
                for kind, names in over_vehicles.items()
                for n in names.split()
            ),
            ("route", whole, (ROUTE, capacity)),
            ("along", number, (MAX_LANES, capacity)),
            ("beside", number, (MAX_LANES, capacity)),
            ("future", number, (3, PREDICTIONS, capacity)),  # x, y, heading: scratch of the rules
        ],
        align=True,
    )


# Everything that compiled code must know of a task's configuration; `config.py` fills it in
TASK = np.dtype(
    [
        ("kind", np.int64),
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
        # traffic
        ("distance_wanted", np.float64),
        ("comfort_acceleration", np.float64),
        ("comfort_braking", np.float64),
        ("idm_speed_limit", np.bool_),
        ("regulation_period", np.int64),  # in ticks; 0: no rules
        # who is there
        ("vehicles_low", np.int64),
        ("vehicles_high", np.int64),
        ("initial_lane_id", np.int64),  # -1: drawn
        ("ego_spacing", np.float64),
        ("vehicles_density", np.float64),
        ("spawn_probability", np.float64),
        ("destination", np.int64),  # -1: drawn
        ("warm_up", np.int64),  # in ticks
        # rewards and ends
        ("collision_reward", np.float64),
        ("right_lane_reward", np.float64),
        ("high_speed_reward", np.float64),
        ("lane_change_reward", np.float64),
        ("merging_speed_reward", np.float64),
        ("arrived_reward", np.float64),
        ("left_lane_reward", np.float64),
        ("left_lane_constraint", np.float64),
        ("reward_speed_low", np.float64),
        ("reward_speed_high", np.float64),
        ("speed_reward_by_index", np.bool_),
        ("normalize_reward", np.bool_),
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
    ],
    align=True,
)

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
