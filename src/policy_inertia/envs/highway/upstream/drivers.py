"""highway-env's traffic with constants that stay where they belong; needs highway-env.

Making an intersection changes highway-env's own `IDMVehicle` for every env of the process. The
originals that we make drive with these instead, so that drawing an intersection changes nothing
for anybody else's env.
"""

from __future__ import annotations

from typing import Any

from highway_env.vehicle.behavior import IDMVehicle


class Driver(IDMVehicle):
    """Traffic of highway, merge and two-way."""

    DISTANCE_WANTED = 10.0
    COMFORT_ACC_MAX = 3.0
    COMFORT_ACC_MIN = -5.0

    def acceleration(
        self, ego_vehicle: Any, front_vehicle: Any = None, rear_vehicle: Any = None
    ) -> float:
        """The original's, on lanes without a limit where `idm_speed_limit` is False."""
        lane = getattr(ego_vehicle, "lane", None)
        if lane is None or getattr(self.road, "idm_speed_limit", True):
            return super().acceleration(ego_vehicle, front_vehicle, rear_vehicle)
        limit, lane.speed_limit = lane.speed_limit, None
        try:
            return super().acceleration(ego_vehicle, front_vehicle, rear_vehicle)
        finally:
            lane.speed_limit = limit


class CrossingDriver(Driver):
    """Traffic of the intersection, which sets these constants itself."""

    DISTANCE_WANTED = 7
    COMFORT_ACC_MAX = 6
    COMFORT_ACC_MIN = -3
