"""Tiny envs, each of which only one thing can solve."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class Probe(gym.Env):
    """Ten steps of two actions; subclasses say what is seen and what pays."""

    length = 10
    terminal = True
    observation_space: gym.Space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space: gym.Space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.t, self.previous = 0, -1
        self.begin()
        return self.see(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        reward = self.pay(int(action))
        self.t += 1
        self.previous = int(action)
        over = self.t >= self.length
        return self.see(), reward, over and self.terminal, over and not self.terminal, {}

    def begin(self) -> None: ...

    def see(self) -> Any:
        return np.zeros(1, np.float32)

    def pay(self, action: int) -> float:
        return 0.0


class Repeat(Probe):
    """Repeating the last action pays, whichever it is."""

    def pay(self, action: int) -> float:
        return float(action == self.previous)


class Switch(Probe):
    """Switching at every step pays."""

    def pay(self, action: int) -> float:
        return float(self.previous >= 0 and action != self.previous)


class SwitchSeen(Switch):
    """The same, with the last action to be seen: a core can solve it too."""

    def see(self) -> Any:
        return np.array([self.previous], np.float32)


class Both(Probe):
    """A light says, step by step, whether repeating (1) or switching (-1) pays."""

    def see(self) -> Any:
        self.light = 1 if self.np_random.random() < 0.5 else -1
        return np.array([self.light], np.float32)

    def pay(self, action: int) -> float:
        if self.previous < 0:
            return 0.0
        return float((action == self.previous) == (self.light == 1))


class Wage(Probe):
    """Every step pays what the env was made with."""

    def __init__(self, wage: float = 1.0) -> None:
        self.wage = wage

    def pay(self, action: int) -> float:
        return self.wage


class TimeLimit(Probe):
    """One unit a step, cut off by a time limit: worth 1 / (1 - gamma) at every step."""

    terminal = False

    def pay(self, action: int) -> float:
        return 1.0


class Death(TimeLimit):
    """The same, but the episode truly ends after one step: worth 1."""

    length, terminal = 1, True


class Delayed(Probe):
    """The first action is paid for at the second step: only a bootstrapped value can tell."""

    length = 2

    def see(self) -> Any:
        return np.array([0 if self.t == 0 else (1 if self.previous == 1 else -1)], np.float32)

    def pay(self, action: int) -> float:
        return float(self.t == 1 and self.previous == 1)


class Broken(Probe):
    """Gives NaN in the reward or in the observation at its seventh step."""

    def __init__(self, where: str) -> None:
        self.where = where

    def see(self) -> Any:
        broken = self.where == "observation" and self.t == 7
        return np.full(1, np.nan if broken else 0, np.float32)

    def pay(self, action: int) -> float:
        return float("nan") if self.where == "reward" and self.t == 6 else 0.0


class Lottery(Probe):
    """Not deterministic given its seed."""

    def see(self) -> Any:
        return np.random.default_rng().random(1, np.float32)


class Seen(Both):
    """`Both`, to look at: the picture is as bright as the step's number."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def render(self) -> Any:
        return np.full((30, 40, 3), 20 * self.t, np.uint8)

    def get_action_meanings(self) -> list[str]:
        return ["STAY", "GO"]


class DeadZone(Probe):
    """A number wanders over five places: at the ends one action each pays, between them any."""

    length = 20
    observation_space = gym.spaces.Box(-2, 2, (1,), np.float32)

    def begin(self) -> None:
        self.at = int(self.np_random.integers(-2, 3))

    def see(self) -> Any:
        if self.t:
            self.at = int(np.clip(self.at + self.np_random.integers(-1, 2), -2, 2))
        return np.array([self.at], np.float32)

    def pay(self, action: int) -> float:
        return float(abs(self.at) < 2 or (action == 1) == (self.at > 0))


class Lights(Probe):
    """A light says which action pays, and whoever takes the other crashes sometimes."""

    length = 20

    def see(self) -> Any:
        self.light = int(self.np_random.integers(2))
        return np.array([self.light], np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        right = int(action) == self.light
        obs, _, over, _, _ = super().step(action)
        crashed = not right and self.np_random.random() < 0.2
        return obs, float(right), over or crashed, False, {"crashed": crashed}


class Clock(Repeat):
    """`Repeat`, with the step's parity to be seen: a core that follows it never repeats."""

    def see(self) -> Any:
        return np.array([self.t % 2], np.float32)
