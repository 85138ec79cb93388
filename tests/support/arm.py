"""Policies for an arm with continuous actions of every meaning, and copies of them beside them."""

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia import load_core
from policy_inertia.networks.layers import Activation, Flatten, Layers, Linear, Rescale
from policy_inertia.policies.action_filters.action_filter import Dimension
from policy_inertia.policies.action_filters.butterworth import Butterworth
from policy_inertia.policies.action_filters.dead_band import DeadBand
from policy_inertia.policies.action_filters.exponential import Exponential
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.action_filters.one_euro import OneEuro
from policy_inertia.policies.action_filters.rate_limit import RateLimit
from policy_inertia.policies.action_filters.rule import Rule
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.memory import PREVIOUS_ACTION

LENGTH = 60
LOW = np.array([[-2, -1], [0, 0.5]])
HIGH = np.array([[2, 1.25], [1, 0.75]])


class Arm(gym.Env[Any, Any]):
    """60 noisy observations; an action is a matrix of four numbers with bounds of their own."""

    observation_space: gym.Space[Any] = gym.spaces.Box(-9, 9, (3,), np.float32)
    action_space: gym.Space[Any] = gym.spaces.Box(
        LOW.astype(np.float32), HIGH.astype(np.float32), dtype=np.float32
    )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.t += 1
        return self._seen(), 0.0, False, self.t == LENGTH, {}

    def _seen(self) -> np.ndarray:
        wave = 2 * np.sin(self.t / np.array([3, 5, 9]))
        return np.clip(wave + self.np_random.normal(0, 0.5, 3), -9, 9).astype(np.float32)


class DoubleArm(Arm):
    """The same with actions of float64."""

    action_space: gym.Space[Any] = gym.spaces.Box(LOW, HIGH, dtype=np.float64)


DIMENSIONS: tuple[Dimension, ...] = ("absolute", "delta", "untouched", "absolute")
RULES: dict[str, Rule] = {
    "exponential": Exponential(0.3),
    "butterworth": Butterworth(0.2),
    "dead band": DeadBand(0.1),
    "rate limit": RateLimit(0.05),
    "one euro": OneEuro(0.05),
    "limit": MovementLimit(0.05, 0.4),
    "limit of each number": MovementLimit(0.05, 0.4, per_dimension=True),
}
FILTERS: dict[str, Callable[[ContinuousCore], ContinuousCore]] = {
    "nothing": lambda core: core,
    **{name: lambda core, rule=rule: core.with_filter(rule) for name, rule in RULES.items()},  # type: ignore[misc]
    "hard limit": lambda core: core.with_limit(0.04, 0.2),
    "two limits": lambda core: core.with_filter(RULES["limit"]).with_limit(0.04, 0.2, True),
    "filter and limit": lambda core: core.with_filter(Butterworth(0.1)).with_limit(0.04, 0.2, True),
}
"""By their names, from a core to the core behind a filter."""


def arm_layers(activation: str = "Tanh", scale: float = 1.0) -> Layers:
    """A network with statistics whose actions cover most of their range."""
    rng = np.random.default_rng(4)
    w = [rng.normal(0, 1, shape).astype(np.float32) for shape in ((3, 12), (12, 4))]
    b = [rng.normal(0, 0.3, n).astype(np.float32) for n in (12, 4)]
    low, high = (bound.ravel().astype(np.float32) for bound in (LOW, HIGH))
    middle, half = (low + high) / 2, scale * (high - low) / 2
    statistics = Rescale(np.array([0.1, 0.0, -0.2]), np.array([2.0, 1.5, 1.0]), 3.0)
    hidden, last = (Linear(*layer) for layer in zip(w, b, strict=True))
    last = Linear(last.w / 3, last.b)
    outputs = (Activation("Tanh"), Rescale(-middle / half, 1 / half))
    return (statistics, Flatten(), hidden, Activation(activation), last, *outputs)


def arm_core(env: type[Arm] = Arm, activation: str = "Tanh") -> ContinuousCore:
    loaded = load_core(lambda obs: np.zeros((len(obs), 2, 2)) + (LOW + HIGH) / 2, env)
    return ContinuousCore.from_layers("arm", loaded.spaces, arm_layers(activation), loaded.space)


Step = tuple[np.ndarray, bool, np.ndarray, dict[str, np.ndarray]]


def box_episodes(policy: Any, env: gym.Env[Any, Any], n: int) -> Iterator[Step]:
    """Run `n` whole episodes; give each step's observation, start, action and state after it."""
    state = None
    for seed in range(n):
        obs, _ = env.reset(seed=seed)
        starts, over = True, False
        while not over:
            action, state = policy.predict(obs, state, np.array([starts]), deterministic=True)
            yield obs, starts, action, state
            obs, _, terminated, truncated, _ = env.step(action)
            starts, over = False, terminated or truncated


def compare_box(
    policy: Any,
    env: gym.Env[Any, Any],
    n: int,
    act: Callable[[np.ndarray], np.ndarray],
    reset: Callable[[], None],
    memory: Callable[[str], np.ndarray],
) -> np.ndarray:
    """Let a copy act beside its policy in `n` episodes; return the actions, scaled.

    Every action is the same within float rounding, and so is all memory after every step. Tokens
    are whole millionths, each move rounded up.
    """
    rows: list[np.ndarray] = []
    actions = policy.spaces.actions
    half = actions.half_range.reshape(actions.env_shape)
    for obs, starts, action, state in box_episodes(policy, env, n):
        if starts and rows:
            reset()
        theirs = act(obs)
        assert theirs.shape == action.shape
        assert theirs.dtype == action.dtype
        np.testing.assert_allclose(theirs / half, action / half, atol=2e-5, rtol=0)
        for name, values in state.items():
            if name != PREVIOUS_ACTION:
                atol = 100 if name.endswith("tokens") else 1e-4
                np.testing.assert_allclose(memory(name), values[0], atol=atol, err_msg=name)
        rows.append(state[PREVIOUS_ACTION][0])
    return np.array(rows)
