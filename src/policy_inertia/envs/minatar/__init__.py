"""MinAtar's five games. Importing this package registers them with Gymnasium.

`gym.make("policy_inertia/MinAtar-Breakout-v0")` makes one. MinAtar is an extra because its license
is GPL; without it, making a game raises an error that says what to install.
"""

from policy_inertia.envs.minatar.env import MinAtarEnv, register
from policy_inertia.envs.minatar.games import GAMES

__all__ = ["GAMES", "MinAtarEnv"]

register()
