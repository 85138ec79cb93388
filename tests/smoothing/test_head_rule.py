"""`SmoothActions` and `VecSmoothActions` around agents whose actions have several heads."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from policy_inertia import InputError, Limit, Policy, SmoothActions, load_core
from policy_inertia.smoothing.vec_smooth_actions import VecSmoothActions
from tests.support.heads_env import FromZero, MaskedMixer, Mixer, Switches
from tests.support.policies import fresh

METHODS = ["gate-branching-dqn", "inertia-branching-dqn", "limit-gate-branching-dqn"]


def controller(method: str, env: Any = Mixer) -> Policy:
    """A policy with random parameters; one that plans has a limit."""
    policy = fresh(method, env, hidden=(8,), core={"hidden": (8,)}, seed=3)
    return policy.within(Limit(0.2, 2, per_head=True)) if method.startswith("limit") else policy


def own_actions(policy: Any, env: Any, seed: int) -> np.ndarray:
    obs, _ = env.reset(seed=seed)
    taken, state, over = [], None, False
    while not over:
        action, state = policy.predict(obs, state, deterministic=True)
        taken.append(action)
        obs, _, _, over, _ = env.step(action)
    return np.array(taken)


def wrapped_actions(agent: Any, env: gym.Env, seed: int) -> np.ndarray:
    obs, _ = env.reset(seed=seed)
    taken, over = [], False
    while not over:
        action, _ = agent.predict(obs, deterministic=True)
        obs, _, _, over, info = env.step(action)
        assert info["held"] == (not np.array_equal(info["action_taken"], action))
        taken.append(info["action_taken"])
    return np.array(taken)


@pytest.mark.parametrize("env", [Mixer, Switches])
@pytest.mark.parametrize("method", METHODS)
def test_agent_that_acts_like_the_core_follows_the_policy(method: str, env: Any) -> None:
    policy = controller(method, env)
    wrapped = SmoothActions(env(), policy, deterministic=True)
    held = 0
    for seed in range(5):
        own = own_actions(policy, env(), seed)
        np.testing.assert_array_equal(wrapped_actions(policy.core(), wrapped, seed), own)
        held += int((own[1:] == own[:-1]).sum())
    assert held > 0


@pytest.mark.parametrize("method", METHODS)
def test_nothing_forbidden_is_repeated(method: str) -> None:
    """The env raises where a forbidden action is taken."""
    env = SmoothActions(MaskedMixer(), controller(method, MaskedMixer))
    rng, held = np.random.default_rng(0), 0
    for seed in range(5):
        env.reset(seed=seed)
        over = False
        while not over:
            heads = np.split(env.unwrapped.action_masks(), [3, 5])  # type: ignore[attr-defined]
            action = np.array([rng.choice(np.flatnonzero(head)) for head in heads])
            _, _, _, over, info = env.step(action)
            held += info["held"]
    assert held > 0


def test_hysteresis_of_each_head_is_that_of_the_core_itself() -> None:
    core = load_core(lambda obs: np.tile(np.sin(9 * obs), 3), FromZero, output="q")
    wrapped = SmoothActions(FromZero(), core, hysteresis=0.7)
    filtered = core.with_hysteresis(0.7)
    for seed in range(3):
        own = own_actions(filtered, FromZero(), seed)
        np.testing.assert_array_equal(wrapped_actions(core, wrapped, seed), own)
    assert (own[1:] == own[:-1]).any(0).all()


@pytest.mark.parametrize("per_head", [True, False])
def test_limit_alone_bounds_the_switches_of_random_agents(per_head: bool) -> None:
    env = SmoothActions(Mixer(), limit=Limit(0.1, 1.5, per_head=per_head))
    env.action_space.seed(0)
    for seed in range(5):
        env.reset(seed=seed)
        taken, over = [], False
        while not over:
            _, _, _, over, info = env.step(env.action_space.sample())
            taken.append(info["action_taken"])
        switched = np.diff(np.array(taken), axis=0) != 0
        counts = switched.sum(0) if per_head else switched.any(1).sum()
        assert np.all(counts <= 1.5 + 0.1 * len(taken))
        assert np.all(counts > 0)


def test_several_envs_at_once_decide_like_one_by_one() -> None:
    policy = controller("gate-branching-dqn", FromZero)
    envs = VecSmoothActions(DummyVecEnv([FromZero, FromZero]), policy, deterministic=True)
    single = SmoothActions(FromZero(), policy, deterministic=True)
    envs.seed(4)
    obs: Any = envs.reset()
    alone, _ = single.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(19):
        actions = rng.integers(0, [3, 2, 4], (2, 3))
        obs, _, _, infos = envs.step(actions)
        alone, _, _, _, info = single.step(actions[0])
        np.testing.assert_array_equal(infos[0]["action_taken"], info["action_taken"])
        np.testing.assert_array_equal(obs[0], alone)


def test_what_cannot_be_done_is_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match="has MultiDiscrete actions, and filters of numbers"):
        SmoothActions(Mixer(), rule=lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no inertia controller"):
        SmoothActions(Mixer(), fresh("branching-dqn", Mixer, hidden=(8,)))
