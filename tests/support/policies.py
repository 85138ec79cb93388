"""Policies of every method, before any training."""

from typing import Any

import numpy as np

from policy_inertia import Policy
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session

OBS = np.random.default_rng(0).normal(0, 1, (16, 4)).astype(np.float32)
"""A batch of observations for CartPole."""


def fresh(method: str = "nsac", env: Any = "CartPole-v1", **changes: Any) -> Policy:
    """A policy as it is before its first update, with the settings of CartPole."""
    return Session(settings(method, "CartPole-v1", preset="paper", **changes), env).policy()


def with_mu(policy: Policy, pre_activation: float) -> Policy:
    """The same nested policy with a constant inertia."""
    last = policy.params.controller[-1]
    last["w"][:] = 0
    last["b"][:] = pre_activation
    return policy
