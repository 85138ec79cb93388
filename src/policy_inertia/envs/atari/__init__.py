"""Atari games on ale-py's vector env. Importing this package registers them with Gymnasium.

`gym.make("policy_inertia/Qbert-v0")` makes one game, and `gym.make_vec` a batch of them. ale-py is
an extra because its license is GPL-2.0. Without it only the paper's four games are registered, and
making one raises an error that says what to install.
"""

from policy_inertia.envs.atari.env import GameEnv, GameVectorEnv, register
from policy_inertia.envs.atari.options import Options
from policy_inertia.envs.atari.roms import PAPER, games, installed, resolve

__all__ = ["PAPER", "GameEnv", "GameVectorEnv", "Options", "games", "installed", "resolve"]

register()
