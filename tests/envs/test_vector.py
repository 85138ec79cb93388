from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.making import make_vector
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.spec import Spec
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.seeds import training_seed
from tests.support import probes


def cartpole(n: int, seed: int = 0) -> Envs:
    return Envs("CartPole-v1", n, lambda i, k: training_seed(seed, i, k))


def drive(envs: Envs, steps: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, 2, (steps, 8))  # of env i whatever the number of envs
    return [envs.step(actions[t, : envs.n]).next_obs for t in range(steps)]


def test_an_episode_does_not_depend_on_the_envs_beside_it() -> None:
    alone, together = drive(cartpole(1), 120), drive(cartpole(8), 120)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def test_an_episode_is_gymnasiums_own_from_its_seed() -> None:
    envs, env = cartpole(3), gym.make("CartPole-v1")
    obs, _ = env.reset(seed=training_seed(0, 1, 0))
    for t in range(200):
        np.testing.assert_array_equal(envs.obs[1], obs)
        step = envs.step(np.full(3, t % 2))
        obs, reward, terminated, truncated, _ = env.step(t % 2)
        np.testing.assert_array_equal(step.next_obs[1], obs)  # the true last one, not the reset
        assert (step.reward[1], step.terminated[1]) == (reward, terminated)
        if terminated or truncated:
            obs, _ = env.reset(seed=training_seed(0, 1, int(envs.episode[1])))
    assert envs.episode[1] > 2


@pytest.mark.parametrize("steps", [0, 1, 37, 150])
def test_restored_envs_go_on_bit_for_bit(steps: int) -> None:
    one, two = cartpole(4), cartpole(4)
    drive(one, steps)
    assert two.restore(one.state())
    for a, b in zip(drive(one, 60, seed=1), drive(two, 60, seed=1), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.episode, two.episode)


def test_an_env_that_is_not_deterministic_says_so() -> None:
    one, two = (Envs(probes.Lottery, 2, lambda i, k: 0) for _ in range(2))
    one.step(np.zeros(2, int))
    assert not two.restore(one.state())


@pytest.mark.parametrize("task", ["LaneChange", "Merge", "Intersection", "TwoWay"])
def test_compiled_batches_are_single_envs_side_by_side_and_come_back(task: str) -> None:
    name = f"policy_inertia/{task}-v0"
    envs, again = (Envs(name, 3, lambda i, k: training_seed(7, i, k)) for _ in range(2))
    assert type(envs.vector.unwrapped).__name__ == "TrafficVectorEnv"
    alone = gym.make(name)
    obs, _ = alone.reset(seed=training_seed(7, 1, 0))
    rng = np.random.default_rng(0)
    for _ in range(40):
        np.testing.assert_array_equal(envs.obs[1], obs.ravel())
        actions = rng.integers(0, envs.spaces.discrete.n, 3)
        step = envs.step(actions)
        obs, reward, terminated, truncated, info = alone.step(actions[1])
        assert step.reward[1] == reward
        assert step.info["crashed"][1] == info["crashed"]
        if terminated or truncated:
            obs, _ = alone.reset(seed=training_seed(7, 1, int(envs.episode[1])))
    assert envs.episode.max() > 0
    assert again.restore(envs.state())


def test_env_of_ones_own_package_is_made_by_its_name() -> None:
    envs = Envs("tests.support.registered:Repeat-v0", 2, lambda i, k: 0)
    assert [envs.step(np.array([0, t])).reward.tolist() for t in (0, 1)] == [[0, 0], [1, 0]]


class Offset(probes.Repeat):
    """Actions 5 and 6, states 3 to 5."""

    action_space = spaces.Discrete(2, start=5)
    observation_space = spaces.Discrete(3, start=3)

    def see(self):
        return 3 + self.t % 3

    def pay(self, action):
        assert action in (5, 6)
        return float(action)


def test_discrete_observations_are_one_hot_and_actions_count_from_zero() -> None:
    envs = Envs(Offset, 2, lambda i, k: 0)
    assert envs.obs.tolist() == [[1, 0, 0]] * 2
    step = envs.step(np.array([0, 1]))
    assert step.reward.tolist() == [5, 6]
    assert step.next_obs.tolist() == [[0, 1, 0]] * 2
    assert envs.spaces.decode(step.next_obs).tolist() == [4, 4]


def offering(action=None, observation=None):
    def make():
        env = probes.Repeat()
        env.action_space = action or env.action_space
        env.observation_space = observation or env.observation_space
        return env

    return make


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (offering(action=spaces.Box(-np.inf, 1, (2,))), "Box.*number 0 .*has no lower bound"),
        (offering(action=spaces.Text(3)), "Text.*Discrete"),
        (
            offering(observation=spaces.Tuple([spaces.Discrete(2)])),
            "Tuple.*FlattenObservation",
        ),
        ("CartPole-v11", "did you mean 'CartPole-v1'"),
        ("TwoWay-v0", "did you mean 'policy_inertia/TwoWay-v0'"),
        ("CartPol-v1", "did you mean 'CartPole-v1'"),
        ("Nowhere/Pong-v5", "the package that offers Nowhere/... is not installed"),
        ("nowhere_pkg:Thing-v0", "there is no env 'nowhere_pkg:Thing-v0'.*package:Id"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(env: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make_vector(env, 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", ["reward", "observation"])
def test_nan_is_refused_where_it_appears(where: str) -> None:
    envs = Envs(lambda: probes.Broken(where), 2, lambda i, k: 0)
    for _ in range(6):
        envs.step(np.zeros(2, int))
    with pytest.raises(InputError, match=f"NaN {where} in env 0, episode 0, step 6"):
        envs.step(np.zeros(2, int))


def test_box_observations_of_any_shape_become_vectors() -> None:
    known = Spaces((2, 3), Discrete(4))
    assert known.spec == Spec(6, Discrete(4))
    obs = np.arange(12).reshape(2, 2, 3)
    assert known.encode(obs).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    np.testing.assert_array_equal(known.decode(known.encode(obs)), obs)
