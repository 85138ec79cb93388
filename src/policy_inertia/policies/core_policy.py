"""A core as a policy: what runs, is calibrated and is filtered like our own policies."""

from __future__ import annotations

from typing import Any

from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.policy_file import CORE
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity

METHOD = f"smooth{CORE}"
"""The method that policy files give a core alone: the core of what `smooth` trains."""


def spaces_around(core: Core | ContinuousCore) -> SpacesWithCore:
    """Return the spaces of a core's env, whose encoded observations end in the core's outputs."""
    if isinstance(core, ContinuousCore):
        return BoxSpacesWithCore.of_core(core)
    return SpacesWithCore.of_core(core)


def core_policy(
    core: Core | ContinuousCore, task: str, env_kwargs: dict[str, Any] | None = None
) -> Any:
    """Return a core without memory as a policy.

    Args:
        core: The core; its own filters become the policy's.
        task: Name of the env.
        env_kwargs: Arguments of the env.

    Returns:
        A `Policy`; for continuous actions the core itself, which is a policy already.
    """
    if isinstance(core, ContinuousCore):
        return core.on(task, env_kwargs)
    return Policy(
        METHOD,
        core_identity(core),
        spaces_around(core),
        (),
        task=task,
        env_kwargs=env_kwargs,
        hysteresis=core.hysteresis,
        limit=core.limit,
        switching=core.switching,
    )


def label_of(policy: Policy) -> str:
    """What tables call a policy: its method, or the name of the core that it is."""
    if policy.traits.frozen and isinstance(policy.spaces, SpacesWithCore):
        return policy.spaces.core.name
    return policy.method
