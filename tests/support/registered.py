"""A package of somebody's own: importing it registers an env."""

import gymnasium as gym

from tests.support.pixel_game import Catch
from tests.support.probes import Repeat, Wage

gym.register("Repeat-v0", entry_point=Repeat)
gym.register("Wage-v0", entry_point=Wage)
gym.register("Catch-v0", entry_point=Catch)
