"""highway-env's Two-Way with the reward that it lacks for continuous actions. Needs highway-env.

highway-env 1.12.1 has continuous actions in Two-Way's configuration, but raises an AttributeError
at the first reset: the reward reads the target speed and the target lane, which an ego with
continuous actions does not have. Everything else runs, and is highway-env's here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from highway_env import utils
from highway_env.envs.two_way_env import TwoWayEnv


class ContinuousTwoWay(TwoWayEnv):
    """Two-Way, rewarded as highway-env's highway rewards an ego with continuous actions.

    The speed along the road counts instead of the target speed, and the lane instead of the target
    lane. There is no reward off the road.
    """

    def _reward(self, action: Any) -> float:
        rewards = self._rewards(action)
        on_road = rewards.pop("on_road_reward")
        return sum(self.config[name] * reward for name, reward in rewards.items()) * on_road

    def _rewards(self, action: Any) -> dict[str, float]:
        ego = self.vehicle
        last = len(self.road.network.all_side_lanes(ego.lane_index)) - 1
        forward_speed = ego.speed * np.cos(ego.heading)
        share = utils.lmap(forward_speed, self.config["reward_speed_range"], [0, 1])
        return {
            "high_speed_reward": np.clip(share, 0, 1),
            # the oncoming lane has no lane beside it
            "left_lane_reward": (last - ego.lane_index[2]) / last if last else 0.0,
            "on_road_reward": float(ego.on_road),
        }
