"""A package of somebody's own: importing it registers an env."""

import gymnasium as gym

from tests.probes import Repeat

gym.register("Repeat-v0", entry_point=Repeat)
