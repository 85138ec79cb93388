"""A frozen core's continuous action behind encoded observations."""

import numpy as np

from policy_inertia.algorithms.frozen import BoxFrozenConfig, joined_action, split_action
from policy_inertia.policies.box_spaces_with_core import BoxSpacesWithCore
from policy_inertia.policies.spaces_with_core import core_identity
from tests.support.arm import arm_core

OBS = np.random.default_rng(3).normal(0, 2, (50, 3)).astype(np.float32)


def test_encoded_observations_end_in_the_exact_action_of_the_core() -> None:
    core = arm_core()
    spaces = BoxSpacesWithCore.of_core(core)
    encoded = spaces.encode(OBS)
    assert spaces.spec.obs_dim == encoded.shape[1] == 3 + 2 * 4
    assert spaces.spec.core_outputs == 8
    assert encoded.dtype == np.float32
    np.testing.assert_array_equal(encoded[:, :3], OBS)
    np.testing.assert_array_equal(spaces.decode(encoded), OBS)
    frozen = core_identity(core).build(spaces.spec)
    action = frozen.apply((), encoded, spaces.actions.null(50), np).policy.mode()
    np.testing.assert_array_equal(spaces.actions.to_env(action), core.predict(OBS)[0])


def test_float64_actions_survive_float32() -> None:
    action = np.random.default_rng(0).uniform(-1, 1, (1_000, 3))
    np.testing.assert_allclose(joined_action(split_action(action), 3, np), action, atol=1e-15)


def test_networks_may_be_asked_without_the_core() -> None:
    spaces = BoxSpacesWithCore.of_core(arm_core())
    encoded = spaces.encode_for_networks(OBS)
    np.testing.assert_array_equal(encoded[:, :3], OBS)
    assert not encoded[:, 3:].any()


def test_identity_says_that_the_actions_are_continuous() -> None:
    identity = core_identity(arm_core())
    assert isinstance(identity, BoxFrozenConfig)
    assert (identity.name, identity.traits.actions) == ("arm", "box")
    assert identity.traits.frozen
