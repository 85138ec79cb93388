"""highway-env's traffic, with constants of its own for each task. Needs highway-env.

highway-env's intersection changes the constants of its class `IDMVehicle`, and so of the traffic of
every env in the process. The envs that we make use the classes of this module instead, so drawing
an intersection does not change any other env. `drivers.<task>Driver` is the class of a task.
"""

from __future__ import annotations

from typing import Any

from highway_env.vehicle.behavior import IDMVehicle

from policy_inertia.envs.highway.tasks import TASKS
from policy_inertia.envs.highway.upstream.configuration import TRAFFIC_CONSTANTS


class Driver(IDMVehicle):
    """A vehicle that can ignore the lanes' speed limits."""

    def acceleration(
        self, ego_vehicle: Any, front_vehicle: Any = None, rear_vehicle: Any = None
    ) -> float:
        """Return highway-env's acceleration; without limits if `idm_speed_limit` is False."""
        lane = getattr(ego_vehicle, "lane", None)
        if lane is None or getattr(self.road, "idm_speed_limit", True):
            return super().acceleration(ego_vehicle, front_vehicle, rear_vehicle)
        limit, lane.speed_limit = lane.speed_limit, None
        try:
            return super().acceleration(ego_vehicle, front_vehicle, rear_vehicle)
        finally:
            lane.speed_limit = limit


def __getattr__(name: str) -> type[Driver]:
    """Make the class of a task when it is first used."""
    task = name.removesuffix("Driver")
    if task == name or task not in TASKS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    traffic = TASKS[task].traffic._asdict()
    constants = {constant: traffic[field] for constant, field in TRAFFIC_CONSTANTS.items()}
    globals()[name] = type(name, (Driver,), {"__module__": __name__, **constants})
    return globals()[name]
