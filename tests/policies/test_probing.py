"""Calling a policy that we know nothing about, and checking what it returns."""

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.envs.spaces import Spaces
from policy_inertia.policies.probing import (
    OutputKind,
    check_output,
    example_observations,
    gym_space,
    infer_kind,
    read_spaces,
)

SPACES = Spaces.of(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2, start=5), "an env")


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Box(-0.1, 0.1, (3,)),
        gym.spaces.Box(0, 255, (2, 2), np.uint8),
        gym.spaces.Discrete(5, start=2),
    ],
)
def test_examples_lie_in_the_space_and_do_not_advance_its_generator(space: gym.Space) -> None:
    space.seed(0)
    before = space.np_random.bit_generator.state
    observations = example_observations(space, 50)
    assert all(space.contains(o.astype(space.dtype) if o.ndim else o) for o in observations)
    assert space.np_random.bit_generator.state == before
    np.testing.assert_array_equal(observations, example_observations(space, 50))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1], "action"),
        ([0.0, 1.0, 1.0], "action"),
        ([[0.2, 0.8], [1, 0], [0.5, 0.5]], "probabilities"),
        (np.log([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]), "logits"),
    ],
)
def test_kind_of_output_is_inferred_from_values(
    values: list[float] | np.ndarray, kind: OutputKind
) -> None:
    assert infer_kind(np.array(values), SPACES, "it") == kind


def test_logits_and_q_values_look_the_same_so_the_user_is_asked() -> None:
    with pytest.raises(InputError, match="may be logits or Q-values: say which"):
        infer_kind(np.array([[1.0, 2.0], [0.5, -3.0], [0.0, 0.0]]), SPACES, "it")


def test_actions_are_counted_from_zero_after_the_check() -> None:
    np.testing.assert_array_equal(check_output([5, 6, 5], "action", 3, SPACES, "it"), [0, 1, 0])
    with pytest.raises(InputError, match="this env has 5 to 6, so the action spaces differ"):
        check_output([0, 1, 0], "action", 3, SPACES, "it")


@pytest.mark.parametrize(
    ("output", "kind", "message"),
    [
        ([5.5, 6, 5], "action", "no whole numbers: expected 5 to 6"),
        ([1e300, 6, 5], "action", "this env has 5 to 6"),
        (np.array([2**64 - 1, 6, 5], np.uint64), "action", "this env has 5 to 6"),
        ([[1e300, 0]] * 3, "q", "gave NaN or infinity"),
        ([[3e38, 3e38]] * 3, "probabilities", "gave probabilities that sum to 6e"),
        ([["a", "b"]] * 3, "q", "gave values of type <U1"),
    ],
)
def test_extreme_outputs_are_refused_without_a_warning(
    output: list[float], kind: OutputKind, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_output(output, kind, 3, SPACES, "it")


def test_spaces_of_an_env_an_id_and_a_function_are_the_same() -> None:
    env = gym.make("CartPole-v1")
    several = gym.make_vec("CartPole-v1", 2)
    for source in (env, several, "CartPole-v1", lambda: gym.make("CartPole-v1")):
        space, spaces = read_spaces(source)
        assert space == env.observation_space
        assert spaces == Spaces.of(env.observation_space, env.action_space, "CartPole-v1")
    several.close()


def test_observations_without_known_bounds_are_real_numbers_bytes_or_a_choice() -> None:
    states = Spaces.of(gym.spaces.Discrete(7, start=1), gym.spaces.Discrete(2), "an env")
    images = Spaces.of(
        gym.spaces.Box(0, 255, (84, 84, 3), np.uint8), gym.spaces.Discrete(2), "an env"
    )
    assert gym_space(states) == gym.spaces.Discrete(7, start=1)
    assert gym_space(images) == gym.spaces.Box(0, 255, (84, 84, 3), np.uint8)
    assert gym_space(SPACES) == gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
