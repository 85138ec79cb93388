"""A package of somebody's own: importing it registers an env."""

import gymnasium as gym

from tests.support.pixel_game import Catch
from tests.support.probes import Repeat, Wage

for env in (Repeat, Wage, Catch):
    gym.register(f"{env.__name__}-v0", entry_point=f"{env.__module__}:{env.__name__}")
