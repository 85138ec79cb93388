"""Atari games over ale-py's own vector env; importing this registers them with Gymnasium.

`gym.make("policy_inertia/Qbert-v0")` is one game, `gym.make_vec` of the same a batch. Without
ale-py (GPL-2.0, hence an extra) the paper's four names are there and say what to install.
"""

from policy_inertia.envs.atari.env import GameEnv, GameVectorEnv, register
from policy_inertia.envs.atari.options import Options
from policy_inertia.envs.atari.roms import PAPER, games, installed, resolve

__all__ = ["PAPER", "GameEnv", "GameVectorEnv", "Options", "games", "installed", "resolve"]

register()
