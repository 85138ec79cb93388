"""Dict observations as vectors."""

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.envs.dict_observations import DictBox, dict_space, flatten, unflatten
from policy_inertia.envs.making import make_env
from policy_inertia.envs.spaces import Spaces
from tests.support.dict_env import SPACES, Cockpit

SPACE = gym.spaces.Dict([*SPACES.items(), ("level", gym.spaces.Discrete(3, start=-1))])


def test_vector_is_that_of_gymnasium_in_the_order_of_the_env() -> None:
    box = DictBox(SPACE, "it")
    assert [entry.name for entry in box.entries] == list(SPACE.keys())
    SPACE.seed(0)
    rows = [SPACE.sample() for _ in range(20)]
    batch = {key: np.stack([row[key] for row in rows]) for key in SPACE}
    vectors = flatten(box.entries, batch)
    expected = np.array([gym.spaces.flatten(SPACE, row) for row in rows])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    for key, values in unflatten(box.entries, vectors).items():
        np.testing.assert_allclose(values, batch[key], rtol=1e-6)


def test_space_of_entries_keeps_their_order() -> None:
    box = DictBox(SPACE, "it")
    assert dict_space(box.entries).entries == box.entries
    for vectors in (box.examples(50, 0), dict_space(box.entries).examples(50, 0)):
        again = flatten(box.entries, unflatten(box.entries, vectors))
        np.testing.assert_array_equal(again, vectors)  # one-hots are one-hots


def test_env_gives_vectors_and_its_spaces_survive_a_file() -> None:
    env = make_env(Cockpit)
    spaces = Spaces.of(Cockpit().observation_space, env.action_space, "it")
    assert Spaces.of(env.observation_space, env.action_space, "it") == spaces
    assert Spaces.from_dict(spaces.to_dict()) == spaces
    observation, _ = env.reset(seed=0)
    raw, _ = Cockpit().reset(seed=0)
    assert env.observation_space.contains(observation)
    np.testing.assert_array_equal(spaces.flat(raw), observation)


def test_entries_of_a_file_that_do_not_fit_are_refused() -> None:
    spaces = Spaces.of(Cockpit().observation_space, Cockpit.action_space, "it").to_dict()
    for change in ({"obs_shape": [18]}, {"entries": [{"name": "a", "shape": [0]}]}):
        with pytest.raises(InputError):
            Spaces.from_dict(spaces | change)
    with pytest.raises(InputError, match="choices for 1"):
        Spaces.from_dict(spaces | {"entries": [{"name": "a", "shape": [2], "choices": [3]}]})
