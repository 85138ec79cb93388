"""Networks that are rebuilt from weights."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from policy_inertia import load_core
from policy_inertia.envs.dict_observations import is_image
from policy_inertia.networks.layers import ACTIVATIONS
from policy_inertia.policies.probing import example_observations
from tests.support.cores import scores_of
from tests.support.sb3_models import Pictures, SB3Model


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations_are_those_of_torch(name: str) -> None:
    x = np.linspace(-20, 20, 401, dtype=np.float32)
    theirs = getattr(torch.nn, name)()(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(ACTIVATIONS[name](x.copy()), theirs, atol=1e-6)


@pytest.mark.parametrize(
    "space",
    [
        Pictures.observation_space,
        gym.spaces.Box(0, 255, (84, 84, 1), np.float32),
        gym.spaces.Box(0, 254, (84, 84, 1), np.uint8),
        gym.spaces.Box(0, 255, (84, 84), np.uint8),
        gym.spaces.Discrete(3),
    ],
)
def test_images_are_what_stable_baselines_takes_for_images(space: gym.Space) -> None:
    from stable_baselines3.common.preprocessing import is_image_space

    assert is_image(space) == is_image_space(space)


def test_channels_may_be_first_or_last(sb3_model: SB3Model) -> None:
    model, path = sb3_model("DQN", Pictures)
    last = load_core(path, Pictures)
    first = load_core(model)  # SB3 moves the channels first before the model sees them
    assert model.observation_space.shape == first.spaces.obs_shape == (1, 84, 84)
    assert last.spaces.obs_shape == (84, 84, 1)
    obs = example_observations(Pictures.observation_space, 8)
    np.testing.assert_allclose(
        scores_of(first, np.moveaxis(obs, -1, 1)), scores_of(last, obs), rtol=1e-5, atol=1e-5
    )
