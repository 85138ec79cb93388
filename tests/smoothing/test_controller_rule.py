"""`SmoothActions` and `VecSmoothActions` with a trained controller of continuous actions."""

from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from policy_inertia import Exponential, InputError, MovementLimit, Policy, SmoothActions, load_core
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.run_settings import settings
from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from policy_inertia.training.session import Session
from tests.support.chase import Chase, follow
from tests.support.policies import fresh

SMALL: dict[str, Any] = {"envs": 1, "hidden": (8,)}


def controller(method: str, **changes: Any) -> Policy:
    """A policy whose controller has random parameters; that of `smooth` is around `follow`."""
    frozen = method == "smooth"
    spaces = BoxSpacesWithCore.of_core(load_core(follow, Chase)) if frozen else None
    core: dict[str, Any] = {} if frozen or method == "sac" else {"core": {"hidden": (8,)}}
    config = settings(method, "Chase", actions="box", **SMALL, **core, **changes)
    session = Session(config, Chase, spaces)
    rng = np.random.default_rng(3)
    state: Any = session.learner.state
    if method == "sac":
        return session.policy()
    inner = state.controller
    name = "actor" if hasattr(inner, "actor") else "pic"
    shaken = jax.tree.map(lambda w: w + rng.normal(0.2, 0.5, w.shape), getattr(inner, name))
    worth = {"worth": np.float32(1.0)} if hasattr(inner, "worth") else {}
    session.learner.state = state._replace(controller=inner._replace(**{name: shaken}, **worth))
    session.learner.fetch()
    return session.policy()


def agent_of(policy: Policy) -> Any:
    """An agent that acts like the policy's core, without noise."""
    if policy.traits.frozen:
        return follow
    return lambda obs: policy.core().predict(obs, deterministic=True)[0]


def actions_of(policy: Policy, seed: int) -> np.ndarray:
    env = Chase()
    obs, _ = env.reset(seed=seed)
    state, over = None, False
    while not over:
        action, state = policy.predict(obs, state, deterministic=True)
        obs, _, _, over, _ = env.step(action)
    return np.array(env.taken)


METHODS = ["smooth", "dial-sac", "dial-sac-squared", "dial-td3", "nsac", "nsac-each"]


@pytest.mark.parametrize("method", METHODS)
def test_agent_that_acts_like_the_core_follows_the_controllers_policy(method: str) -> None:
    policy = controller(method)
    agent, chase = agent_of(policy), Chase()
    env = SmoothActions(chase, policy, deterministic=True)
    for seed in (3, 4):  # the second episode starts afresh
        obs, _ = env.reset(seed=seed)
        over, replaced = False, 0
        while not over:
            wanted = agent(obs)
            obs, _, _, over, info = env.step(wanted)
            np.testing.assert_array_equal(info["action_taken"], chase.taken[-1])
            replaced += info["held"]
            if not info["held"]:
                np.testing.assert_allclose(chase.taken[-1], wanted, atol=1e-6)
        assert replaced > 0
        np.testing.assert_allclose(chase.taken, actions_of(policy, seed), atol=2e-5)


def test_dial_goes_a_part_of_the_way_from_the_last_action_to_the_agents() -> None:
    policy, chase = controller("smooth"), Chase()
    env = SmoothActions(chase, policy.at(policy.largest_price))  # type: ignore[arg-type]
    env.reset(seed=0)
    first, second = np.array([1.5, -1], np.float32), np.array([-1.0, 1.5], np.float32)
    assert not env.step(first)[-1]["held"]
    env.step(second)  # this agent is no core of anything
    np.testing.assert_array_equal(chase.taken[0], first)
    way = (chase.taken[1] - first) / (second - first)
    assert ((way >= 0) & (way <= 1)).all()
    assert (way < 1).any()


def test_dial_set_to_its_core_lets_every_action_of_the_agent_pass() -> None:
    policy, chase = controller("dial-sac"), Chase()
    env = SmoothActions(chase, policy.at(-policy.largest_price))  # type: ignore[operator]
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    wanted = rng.uniform(-2, 2, (10, 2)).astype(np.float32)
    for action in wanted:
        assert not env.step(action)[-1]["held"]
    np.testing.assert_array_equal(chase.taken, wanted)


@pytest.mark.parametrize("method", ["smooth", "nsac"])
def test_limit_on_movement_has_the_last_word(method: str) -> None:
    limit, policy, chase = MovementLimit(0.02, 0.1), controller(method), Chase()
    for env in (
        SmoothActions(chase, policy, limit=limit),
        SmoothActions(chase, policy.within(limit)),
    ):
        obs, _ = env.reset(seed=1)
        over = False
        while not over:
            obs, _, _, over, _ = env.step(follow(obs))
        moved = abs(np.diff(np.array(chase.taken), axis=0)).mean() / 4
        assert moved <= 0.02 + 0.1 / 39 + 1e-6


def test_inertia_repeats_by_chance_and_the_seed_decides_it() -> None:
    policy, episodes = controller("nsac"), []
    for seed in (5, 5, 6):
        chase = Chase()
        env = SmoothActions(chase, policy)
        obs, _ = env.reset(seed=seed)
        for _ in range(30):
            obs = env.step(follow(obs))[0]
        taken = np.array(chase.taken)
        repeats = (taken[1:] == taken[:-1]).all(1)
        assert 0 < repeats.sum() < len(repeats)
        episodes.append(repeats.tolist())
    assert episodes[0] == episodes[1] != episodes[2]


def test_vectorised_envs_take_the_same_actions() -> None:
    policy, envs = controller("smooth"), [Chase() for _ in range(3)]
    venv = VecSmoothActions(DummyVecEnv([lambda e=e: e for e in envs]), policy)  # type: ignore[misc]
    venv.seed(7)
    obs = venv.reset()
    for _ in range(39):
        obs, _, _, infos = venv.step(follow(obs))
    for i, env in enumerate(envs):
        expected = actions_of(policy, 7 + i)[:39]
        np.testing.assert_allclose(env.taken, expected, atol=2e-5)
        np.testing.assert_allclose(infos[i]["action_taken"], expected[-1], atol=2e-5)


def test_core_is_not_called() -> None:
    calls: list[int] = []

    def counting(obs: np.ndarray) -> np.ndarray:
        calls.append(len(obs))
        return follow(obs)

    policy = controller("smooth")
    policy = policy.replace(spaces=BoxSpacesWithCore.of_core(load_core(counting, Chase)))
    env = SmoothActions(Chase(), policy)
    calls.clear()
    obs, _ = env.reset(seed=0)
    env.step(follow(obs))
    assert not calls


class Blind(Chase):
    observation_space: gym.Space[Any] = gym.spaces.Box(-9, 9, (4,), np.float32)


@pytest.mark.parametrize(
    ("env", "method", "options", "says"),
    [
        (Chase, "sac", {}, "has no controller of continuous actions: give one trained by smooth"),
        (Chase, "dial-sac-full", {}, "acts freely, so it would ignore the agent"),
        (Chase, "smooth", {"rule": Exponential(0.3)}, "a trained controller and takes no filter"),
        (Chase, "smooth", {"dimensions": "delta"}, "a trained controller and takes no filter"),
        (Chase, "smooth", {"hysteresis": 0.1}, "hysteresis compares the scores of Discrete ones"),
        (Blind, "smooth", {}, "put the wrapper where the env gives the observations"),
    ],
)
def test_what_is_not_possible_is_refused_in_one_sentence(
    env: Any, method: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        SmoothActions(env(), controller(method), **options)


def test_controller_of_discrete_actions_is_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match="put the wrapper where the env gives"):
        SmoothActions(Chase(), fresh("nsac"))
