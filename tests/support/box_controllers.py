"""Controllers of continuous actions with random networks, around our own cores and others'."""

from typing import Any

import jax
import numpy as np

from policy_inertia import Policy
from policy_inertia.envs.spaces import Spaces
from policy_inertia.methods import find_method
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.schema import read_into

OWN = ("nsac", "nsac-each", "dial-sac", "dial-sac-full")
"""Methods whose controllers have rules of their own."""
LARGEST = 2.0
"""The largest price of a dial."""


def random_controller(name: str, spaces: Spaces, **changes: Any) -> Policy:
    """A policy of a method whose networks are random; a dial has a price of 0.7."""
    own = find_method(name, "box").config
    core = {} if own.traits.frozen else {"core": {"hidden": [8, 8]}}
    config = read_into(own, {"hidden": [8, 8], **core, **changes})
    algorithm: Any = config.build(spaces.spec)
    rng = np.random.default_rng(5)
    params = jax.tree.map(
        lambda w: np.asarray(w + rng.normal(0, 0.5, w.shape), np.float32),
        algorithm.acting(algorithm.init(rng)),
    )
    policy = Policy(name, config, spaces, params)
    if not policy.traits.dial:
        return policy
    dial = params.controller.dial._replace(largest=np.float32(LARGEST), share=np.float32(1))
    params = params._replace(controller=params.controller._replace(dial=dial))
    return policy.replace(params=params).at(0.7)


def around(core: ContinuousCore, **changes: Any) -> Policy:
    """The controller that `smooth` trains, with a random network."""
    return random_controller("smooth", BoxSpacesWithCore.of_core(core), **changes)
