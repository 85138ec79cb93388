"""The paper's four Highway tasks, compiled; importing this registers them with Gymnasium.

`gym.make("policy_inertia/TwoWay-v0")` is one env, `gym.make_vec` of the same a compiled batch.
"""

from .bridge import from_upstream, to_upstream
from .config import PRESETS, TASKS, configuration
from .env import TrafficEnv, TrafficVectorEnv, register
from .original import OriginalEnv, on_original
from .parity import Parity, parity

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
    "to_upstream",
]

register()
