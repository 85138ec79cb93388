"""The paper's four Highway tasks, compiled; importing this registers them with Gymnasium.

`gym.make("policy_inertia/TwoWay-v0")` is one env, `gym.make_vec` of the same a compiled batch.
"""

from .config import PRESETS, TASKS, configuration
from .env import TrafficEnv, TrafficVectorEnv, register
from .parity import Parity, parity

__all__ = [
    "PRESETS",
    "TASKS",
    "Parity",
    "TrafficEnv",
    "TrafficVectorEnv",
    "configuration",
    "parity",
]

register()
