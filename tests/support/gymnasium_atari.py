"""Atari games as Gymnasium makes them: ale-py's single env with Gymnasium's preprocessing."""

from typing import Any

import gymnasium as gym
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from policy_inertia.envs.atari.roms import library


class Idle(gym.Wrapper[Any, Any, Any, Any]):
    """Begins with `frames` idle frames; AtariPreprocessing would draw another number of them."""

    frames = 0

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**kwargs)
        for _ in range(self.frames):
            obs, _, _, _, info = self.env.step(0)
        return obs, info


def make(game: str, frameskip: int = 4, stack: int = 4, **kwargs: Any) -> tuple[Any, Idle]:
    """Make a game by ALE's name, without sticky actions unless `kwargs` ask for them.

    Returns:
        The env, and the wrapper inside it that sets the number of idle frames.
    """
    library()  # its import registers ALE/...
    options = {"frameskip": 1, "repeat_action_probability": 0.0} | kwargs
    idle = Idle(gym.make(f"ALE/{game}-v5", disable_env_checker=True, **options))
    grey = AtariPreprocessing(idle, noop_max=0, frame_skip=frameskip)
    return FrameStackObservation(grey, stack, padding_type="zero"), idle
