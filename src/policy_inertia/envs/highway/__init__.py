"""Driving tasks in a compiled simulator. Importing this package registers them with Gymnasium.

`gym.make("policy_inertia/TwoWay-v0")` makes one env, and `gym.make_vec` a compiled batch of them.
"""

from policy_inertia.envs.highway.bridge import from_upstream, to_upstream
from policy_inertia.envs.highway.config import PRESETS, configuration
from policy_inertia.envs.highway.env import TrafficEnv, TrafficVectorEnv, register
from policy_inertia.envs.highway.original_env import OriginalEnv, on_original
from policy_inertia.envs.highway.tasks import TASKS, task_named
from policy_inertia.envs.highway.upstream.parity import Parity, parity

__all__ = [
    "PRESETS",
    "TASKS",
    "OriginalEnv",
    "Parity",
    "TrafficEnv",
    "TrafficVectorEnv",
    "configuration",
    "from_upstream",
    "on_original",
    "parity",
    "register",
    "task_named",
    "to_upstream",
]

register()
