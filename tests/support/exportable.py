"""One policy for each kind of rule and filter that can be exported, before any training."""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np

from policy_inertia import Policy, load_core
from policy_inertia.envs.scaling import Scaling
from policy_inertia.networks.perceptron import mlp
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from tests.support.calibrations import reaching
from tests.support.policies import fresh
from tests.support.rollouts import CARTPOLE

STRENGTH = 20  # of the observation's weights


@cache
def _observations(env: str, n: int = 60) -> np.ndarray:
    """Flat observations of random actions."""
    task = gym.make(env)
    task.action_space.seed(0)
    obs, _ = task.reset(seed=0)
    rows: list[np.ndarray] = []
    while len(rows) < n:
        rows.append(np.ravel(obs))
        obs, _, terminated, truncated, _ = task.step(task.action_space.sample())
        if terminated or truncated:
            obs, _ = task.reset(seed=len(rows))
    return np.array(rows, np.float32)


def lively(policy: Policy, env: str, sign: int = -1, inertia: float = -1.0) -> Policy:
    """The same policy with networks whose best action changes with the observation.

    Untrained networks hardly look at the observation and always prefer the same action.

    Args:
        policy: The policy.
        env: The id of its env.
        sign: Of the outputs; by default as it balances CartPole's pole for a while.
        inertia: The mean pre-activation of mu; by default it leaves something to the core.
    """
    spec, shape = policy.spaces.spec, (-1, *policy.spaces.obs_shape)
    encoded = policy.spaces.encode_for_networks(_observations(env).reshape(shape))
    obs = encoded[:, : spec.obs_dim - spec.core_outputs]  # what networks see

    def enliven(layers: list[Any]) -> list[Any]:
        layers = [{name: np.array(array) for name, array in layer.items()} for layer in layers]
        first = obs.shape[1] + policy.spaces.discrete.n  # of a price's or a limit's features
        layers[0]["w"][..., : obs.shape[1], :] *= STRENGTH
        layers[0]["w"][..., first:, :] *= STRENGTH / 2
        layers[-1]["w"] *= sign
        extra = np.zeros((len(obs), layers[0]["w"].shape[-2] - obs.shape[1]), np.float32)
        extra[:, policy.spaces.discrete.n :] = 0.3
        outputs = mlp(layers, np.concatenate([obs, extra], 1), np)
        mean = inertia if outputs.shape[-1] == 1 else 0.0
        layers[-1]["b"] += mean - outputs.mean(-2, keepdims=True)
        return layers

    def walk(tree: Any) -> Any:
        if isinstance(tree, list):
            return enliven(tree)
        return type(tree)(*map(walk, tree)) if isinstance(tree, tuple) else tree

    return policy.replace(params=walk(policy.params))


@cache
def _policy(method: str, env: str, sign: int = -1, inertia: float = -1.0, **changes: Any) -> Policy:
    return lively(fresh(method, env, **changes), env, sign, inertia)


def _dial(method: str, env: str, mode: int, price: float, **changes: Any) -> Policy:
    return reaching(_policy(method, env, **changes), 10.0).modes()[mode].at(price)


def _frozen(method: str, env: str) -> Policy:
    """A controller around a core that others trained, whose values are followed by a softmax."""
    core = load_core(_policy("dqn", env), env, temperature=0.3)
    config = settings(method, CARTPOLE, core=core_identity(core).__dict__)
    policy = lively(Session(config, env, SpacesWithCore.of_core(core)).policy(), env)
    assert isinstance(policy.spaces, SpacesWithCore)
    assert policy.spaces.unit, "the controller sees what the core prefers"
    return policy


def _scaled(policy: Policy, env: str) -> Policy:
    """The same policy behind a scale of observations."""
    n = _observations(env).shape[1]
    scaling = Scaling(tuple(0.01 * np.arange(n)), tuple(0.5 + 0.1 * np.arange(n)))
    return policy.replace(spaces=dataclasses.replace(policy.spaces, scaling=scaling))


POLICIES: dict[str, Callable[[str], Policy]] = {
    "values": lambda env: _policy("dqn", env),
    "logits": lambda env: _policy("sac", env),
    "hysteresis on values": lambda env: _policy("dqn", env).with_hysteresis(0.1),
    "hysteresis on logits": lambda env: _policy("sac", env).with_hysteresis(0.1),
    "limit": lambda env: _policy("dqn", env).with_limit(0.15, 2),
    "limit that is carried over": lambda env: _policy("dqn", env).with_limit(0.05, 2.5, True),
    "hysteresis and limit": lambda env: _policy("sac", env).with_hysteresis(0.05).with_limit(0.2),
    "mixture": lambda env: _policy("nsac", env),
    "mixture with a lower bound": lambda env: _policy("nsac", env, mu0=0.05).with_hysteresis(0.01),
    "mixture around values": lambda env: _policy("ndqn", env, inertia=0.0),
    "dial": lambda env: _dial("dial-dqn", env, 0, 0.2),
    "dial that is a gate": lambda env: _dial("dial-sac", env, 1, 0.1),
    "gate whose critics begin": lambda env: _dial("gate-dqn", env, -1, 0.1),
    "gate of one price": lambda env: _policy("gate-sac", env, price=0.05),
    "dial with a margin": lambda env: _dial("dial-sac", env, 0, -0.02),
    "gate that is its core": lambda env: _dial("gate-sac", env, -1, -10.0),
    "dial before the first reward": lambda env: _policy("dial-dqn", env),
    "planner": lambda env: _policy("limit-dqn", env).with_limit(0.2, 2),
    "dial by the mean of its critics": lambda env: _dial(
        "dial-dqn", env, 0, 0.2, pessimistic=False
    ),
    "planner by the mean of its critics": lambda env: _policy(
        "limit-dqn", env, pessimistic=False, seed=2
    ).with_limit(0.2, 2),
    "planner without a limit": lambda env: _policy("limit-sac", env),
    "planner that is a gate": lambda env: _policy("limit-gate-dqn", env).with_limit(0.3, 1.5, True),
    "gate around a frozen core": lambda env: reaching(_frozen("smooth", env), 10.0).at(0.1),
    "mixture around a frozen core": lambda env: _frozen("smooth-mu", env),
    "scaled observations": lambda env: _scaled(_dial("dial-sac", env, 1, 0.1), env),
    "held values": lambda env: _policy("dqn-repeat", env, 1),
    "held logits": lambda env: _policy("sac-repeat", env, 1),
}
"""By the name of the rule, from the id of an env to the policy."""
