"""A game of pixels that a small convolutional network learns in a few thousand steps.

A paddle stands under falling balls. It is paid at each step for being under the ball, and more for
catching it. It is wider than the ball, so that one may jitter under it for nothing.
"""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

SIZE, STACK = 84, 4
BALL, PADDLE, HEIGHT = 6, 20, 4  # pixels
FALL, MOVE = 5, 5  # pixels in a step
FLOOR = SIZE - HEIGHT  # the paddle's top
MARK = 4  # a ball that is still to come, in the upper corner


class Catch(gym.Env):
    """Actions are left, stay and right; an episode ends with its last ball, after 45 steps.

    Observations are the last four screens, newest last, blank before the first, as ale-py's.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012
    action_names = ("LEFT", "STAY", "RIGHT")

    def __init__(self, balls: int = 3, render_mode: str | None = None) -> None:
        self.balls, self.render_mode = balls, render_mode
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(0, 255, (STACK, SIZE, SIZE), np.uint8)
        self.screens = np.zeros((STACK, SIZE, SIZE), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.balls  # this one and those to come
        self.paddle = int(self.np_random.integers(SIZE - PADDLE + 1))
        self._drop()
        self.screens[:] = 0
        return self._see(), {"caught": False}

    def step(self, action):
        self.paddle = min(max(self.paddle + MOVE * (int(action) - 1), 0), SIZE - PADDLE)
        self.y += FALL
        under = self.paddle <= self.x <= self.paddle + PADDLE - BALL
        landed = self.y + BALL > FLOOR
        reward = 0.1 * under
        if landed:
            reward += 1.0 if under else -1.0
            self.left -= 1
            self._drop()
        return self._see(), reward, self.left == 0, False, {"caught": landed and under}

    def _drop(self):
        self.x, self.y = int(self.np_random.integers(SIZE - BALL + 1)), 0

    def _see(self):
        self.screens[:-1] = self.screens[1:]
        screen = self.screens[-1]
        screen[:] = 0
        screen[FLOOR:, self.paddle : self.paddle + PADDLE] = 120
        screen[self.y : self.y + BALL, self.x : self.x + BALL] = 255
        screen[:MARK, : MARK * self.left] = 60
        return self.screens.copy()

    def render(self):
        return np.repeat(self.screens[-1][:, :, None], 3, axis=2)
