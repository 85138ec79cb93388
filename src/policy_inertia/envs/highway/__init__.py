"""The paper's four Highway tasks, compiled; importing this registers them with Gymnasium.

`gym.make("policy_inertia/TwoWay-v0")` is one env, `gym.make_vec` of the same a compiled batch.
"""

from policy_inertia.envs.highway.config import PRESETS, TASKS, configuration
from policy_inertia.envs.highway.env import TrafficEnv, TrafficVectorEnv, register
from policy_inertia.envs.highway.upstream.bridge import from_upstream, to_upstream
from policy_inertia.envs.highway.upstream.original import OriginalEnv, on_original
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
    "to_upstream",
]

register()
