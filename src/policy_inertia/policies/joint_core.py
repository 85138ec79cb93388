"""A core with several heads as a core over their combinations, so that a controller can learn."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from policy_inertia.actions.discrete import Discrete
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.envs.joint_actions import combinations
from policy_inertia.errors import InputError
from policy_inertia.networks.layers import Linear
from policy_inertia.policies.cores import Core


def joint_core(core: Core) -> Core:
    """Return the same core for the env inside `JointActions`: one action for each combination.

    A combination's logit is the sum of its heads' logits, so it is as probable as before.

    Raises:
        InputError: The core has no heads, filters or masks around them, or too many combinations.
    """
    heads: Any = core.spaces.actions
    if not isinstance(heads, MultiDiscrete):
        raise InputError(f"the actions of {core.name} are a {heads}: joint actions are for heads")
    if core.filters or core.masked:
        raise InputError(
            f"{core} has filters or action masks: give the core alone, of an env without masks"
        )
    rows = combinations(heads)
    summed = np.ascontiguousarray(np.transpose(heads.encode(rows)))  # (width, combinations)
    spaces = dataclasses.replace(core.spaces, actions=Discrete(len(rows)))
    name, temperature = f"{core.name} (joint)", core.temperature
    if core.layers is not None and core.kind == "logits":
        layers = (*core.layers, Linear(summed, np.zeros(len(rows), np.float32)))
        return Core.from_layers(name, spaces, "logits", layers, temperature, core.space)

    def logits(obs: np.ndarray) -> np.ndarray:
        return np.asarray(core.acting(obs).policy.log_pi) @ summed

    return Core(name, spaces, "logits", logits, space=core.space)
