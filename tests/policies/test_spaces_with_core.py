"""A frozen core's outputs behind encoded observations."""

import math

import numpy as np

from policy_inertia import load_core
from policy_inertia.policies.cores import Core
from policy_inertia.policies.spaces_with_core import SpacesWithCore, core_identity
from tests.support.policies import OBS

W = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)


def linear_core() -> Core:
    return load_core(lambda obs: obs @ W, "CartPole-v1", output="q")


def test_encoded_observations_end_in_log_probabilities_and_scores() -> None:
    core = linear_core()
    spaces = SpacesWithCore.of_core(core)
    encoded = spaces.encode(OBS)
    assert spaces.spec.obs_dim == encoded.shape[1] == 4 + 2 + 2
    assert spaces.spec.core_outputs == 4
    np.testing.assert_array_equal(encoded[:, :4], OBS)
    np.testing.assert_array_equal(np.exp(encoded[:, 4:6]), core.probabilities(OBS))
    np.testing.assert_array_equal(encoded[:, 6:], OBS @ W)
    np.testing.assert_array_equal(spaces.decode(encoded), OBS)
    assert spaces.without_core == core.spaces


def test_networks_see_how_much_the_core_prefers_its_best_action() -> None:
    spaces = SpacesWithCore.of_core(linear_core(), unit=0.5)
    encoded = spaces.encode(OBS)
    assert spaces.spec.obs_dim == encoded.shape[1] == 4 + 2 + 2 + 2
    assert spaces.spec.core_outputs == 4, "what networks do not see"
    for q, seen in zip(OBS @ W, encoded[:, 4:6], strict=True):
        expected = [math.log(1 + (max(q) - q[i]) / 0.5) for i in range(2)]
        np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(spaces.decode(encoded), OBS)
    np.testing.assert_array_equal(spaces.encode_for_networks(OBS), encoded)


def test_unit_of_preferences_is_the_median_gap_of_the_two_best_scores() -> None:
    gaps = np.array([0.0, 1.0, 3.0, 8.0], np.float32)  # ties have no gap and do not count
    obs = np.stack([gaps, *[np.zeros(4, np.float32)] * 3], axis=1)
    first_number = np.array([[1, 0], [0, 0], [0, 0], [0, 0]], np.float32)
    core = load_core(lambda obs: obs @ first_number, "CartPole-v1", output="q")
    assert SpacesWithCore.of_core(core).measured(obs).unit == 3.0
    assert SpacesWithCore.of_core(core).measured(obs[:1]).unit == 0.0


def test_core_is_measured_with_observations_of_the_type_that_it_knows() -> None:
    types = set()

    def core(obs: np.ndarray) -> np.ndarray:
        types.add(obs.dtype)
        return obs @ W

    spaces = SpacesWithCore.of_core(load_core(core, "CartPole-v1", output="q"))
    spaces.measured(OBS.astype(np.float64))
    assert types == {np.dtype(np.float32)}


def test_encoding_for_networks_that_do_not_see_the_core_does_not_call_it() -> None:
    calls = []

    def counting(obs: np.ndarray) -> np.ndarray:
        calls.append(len(obs))
        return obs @ W

    spaces = SpacesWithCore.of_core(load_core(counting, "CartPole-v1", output="q"))
    calls.clear()
    encoded = spaces.encode_for_networks(OBS)
    assert not calls
    assert encoded.shape[1] == spaces.spec.obs_dim
    np.testing.assert_array_equal(encoded[:, :4], OBS)


def test_identity_follows_the_actions_and_not_the_name() -> None:
    one = core_identity(linear_core())
    same = core_identity(load_core(lambda o: 2 * o @ W, "CartPole-v1", output="q", name="other"))
    other = core_identity(load_core(lambda obs: -obs @ W, "CartPole-v1", output="q"))
    assert one.digest == same.digest
    assert one.digest != other.digest
