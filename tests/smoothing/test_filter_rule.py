"""`SmoothActions` and `VecSmoothActions` around envs with continuous actions."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from policy_inertia import (
    Butterworth,
    ContinuousCore,
    Exponential,
    InputError,
    Limit,
    MovementLimit,
    SmoothActions,
    load_core,
)
from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from tests.support.chase import Chase, follow

FILTERED: list[dict[str, Any]] = [
    {"rule": Exponential(0.3)},
    {"limit": MovementLimit(0.05, 0.1)},
    {"rule": Butterworth(0.2), "limit": MovementLimit(0.1)},
    {"rule": Exponential(0.3), "dimensions": ["untouched", "absolute"]},
]


def policy_with(
    rule: Any = None, limit: Any = None, dimensions: Any = "absolute"
) -> ContinuousCore:
    """The same filters inside the policy."""
    return load_core(follow, Chase).with_dimensions(dimensions).with_filter(rule).within(limit)


def actions_of_policy(policy: ContinuousCore, seed: int) -> np.ndarray:
    env = Chase()
    obs, _ = env.reset(seed=seed)
    state, over = None, False
    while not over:
        action, state = policy.predict(obs, state)
        obs, _, _, over, _ = env.step(action)
    return np.array(env.taken)


@pytest.mark.parametrize("options", FILTERED, ids=str)
def test_env_takes_the_actions_of_a_policy_with_the_same_filter(options: dict[str, Any]) -> None:
    chase = Chase()
    env = SmoothActions(chase, **options)
    for seed in (3, 4):  # the second episode starts afresh
        obs, _ = env.reset(seed=seed)
        over = False
        while not over:
            wanted = follow(obs)
            obs, _, _, over, info = env.step(wanted)
            np.testing.assert_array_equal(info["action_taken"], chase.taken[-1])
            assert info["held"] == (not np.allclose(wanted, chase.taken[-1], atol=1e-6))
        expected = actions_of_policy(policy_with(**options), seed)
        np.testing.assert_allclose(chase.taken, expected, atol=1e-6)


@pytest.mark.parametrize("options", FILTERED[:2], ids=str)
def test_vectorised_envs_take_the_same_actions(options: dict[str, Any]) -> None:
    envs = [Chase() for _ in range(3)]
    venv = VecSmoothActions(DummyVecEnv([lambda e=e: e for e in envs]), **options)  # type: ignore[misc]
    venv.seed(7)
    obs = venv.reset()
    for _ in range(39):
        obs, _, _, infos = venv.step(follow(obs))
    for i, env in enumerate(envs):
        expected = actions_of_policy(policy_with(**options), 7 + i)[:39]
        np.testing.assert_allclose(env.taken, expected, atol=1e-6)
        np.testing.assert_allclose(infos[i]["action_taken"], expected[-1], atol=1e-6)


def test_policy_brings_its_own_filter_limit_and_dimensions() -> None:
    policy = policy_with(Exponential(0.2), MovementLimit(0.1), ["absolute", "untouched"])
    chase = Chase()
    env = SmoothActions(chase, policy)
    obs, _ = env.reset(seed=1)
    over = False
    while not over:
        obs, _, _, over, _ = env.step(follow(obs))
    np.testing.assert_allclose(chase.taken, actions_of_policy(policy, 1), atol=1e-6)


def test_observations_may_be_of_any_kind() -> None:
    class Named(Chase):
        observation_space = gym.spaces.Dict({"seen": Chase.observation_space})

        def _seen(self) -> Any:
            return {"seen": super()._seen()}

    env = SmoothActions(Named(), rule=Exponential(0.5))
    env.reset(seed=0)
    assert env.step(np.array([1, 1], np.float32))[0].keys() == {"seen"}


class Wide(Chase):
    action_space: gym.Space[Any] = gym.spaces.Box(-3, 3, (2,), np.float32)


class Unbounded(Chase):
    action_space: gym.Space[Any] = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)


@pytest.mark.parametrize(
    ("env", "options", "says"),
    [
        (Chase, {}, "there is neither a filter nor a limit"),
        (Chase, {"hysteresis": 0.1}, "hysteresis compares the scores of Discrete ones"),
        (Chase, {"limit": Limit(0.1)}, "which counts switches, and the actions are continuous"),
        (Chase, {"controller": "dqn"}, "the controller is str, and the env's actions"),
        (Chase, {"rule": Exponential(0.1), "dimensions": ["delta"]}, "1 dimensions are declared"),
        (Wide, {"controller": policy_with(Exponential(0.1))}, "from -2 to 2 and the env has a Box"),
        (Unbounded, {"rule": Exponential(0.1)}, "has no lower and no upper bound"),
        (
            lambda: gym.make("CartPole-v1"),
            {"rule": Exponential(0.1)},
            "has Discrete actions, and filters of numbers are for continuous ones",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(
    env: Any, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        SmoothActions(env(), **options)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ([np.nan, 0], "gave nan as number 0 of an action"),
        ([0, 2.5], "gave 2.5 as number 1 of an action, and its bounds are -2 and 2"),
        ([0, 0, 0], r"gave actions of shape \(1, 3\)"),
    ],
)
def test_bad_actions_of_the_agent_are_refused_in_one_sentence(action: Any, says: str) -> None:
    env = SmoothActions(Chase(), rule=Exponential(0.5))
    env.reset(seed=0)
    with pytest.raises(InputError, match=says):
        env.step(np.array(action, np.float32))
