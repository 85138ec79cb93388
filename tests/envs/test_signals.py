"""The small tasks with heads, masks and a memory."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from policy_inertia.envs.making import make_env
from policy_inertia.envs.signals import CLASSES, STEPS, MaskedSignal


@pytest.mark.parametrize("name", [kind.__name__ for kind in CLASSES])
def test_task_is_a_sound_env_whose_episodes_repeat_by_their_seed(name: str) -> None:
    env = make_env(f"policy_inertia/{name}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(STEPS)]
    episodes = []
    for _ in range(2):
        rows = [env.reset(seed=5)[0]]
        for action in actions:
            obs, reward, terminated, truncated, _ = env.step(action)
            rows.append(obs)
            assert 0 <= float(reward) <= 1
            assert not terminated
        assert truncated
        episodes.append(np.array(rows))
    np.testing.assert_array_equal(episodes[0], episodes[1])


def test_mask_always_allows_an_action() -> None:
    env = MaskedSignal(forbidden=0.9)
    env.reset(seed=0)
    rows = []
    for _ in range(STEPS):
        rows.append(env.action_masks())
        env.step(int(rows[-1].argmax()))
    assert np.array(rows).any(1).all()
    assert not np.array(rows).all()
    assert isinstance(env.action_space, gym.spaces.Discrete)
