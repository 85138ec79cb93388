"""Our games equal Gymnasium's AtariPreprocessing and FrameStackObservation in every pixel."""

from typing import Any

import numpy as np
import pytest

from policy_inertia.envs.making import make_env, make_vector
from tests.support import gymnasium_atari

ALE = {
    "MsPacman": "MsPacman",
    "SpaceInvaders": "SpaceInvaders",
    "Qbert": "Qbert",
    "JamesBond": "Jamesbond",
}


def game(name: str, **options: Any) -> Any:
    """Make one of our games."""
    return make_env(f"policy_inertia/{name}-v0", options)


def compare(
    ours: Any, theirs: Any, idle: gymnasium_atari.Idle, steps: int, seed: int = 0
) -> tuple[int, float]:
    """Play both games with the same random actions; return the number of ends and the score."""
    rng = np.random.default_rng(seed)
    ended, score, done = 0, 0.0, True
    for _ in range(steps):
        if done:
            obs, info = ours.reset(seed=seed + ended)
            idle.frames = info["episode_frame_number"]
            expected, _ = theirs.reset(seed=seed + ended)
            np.testing.assert_array_equal(obs, expected)
        action = int(rng.integers(ours.action_space.n))
        obs, reward, terminated, truncated, info = ours.step(action)
        expected, *expected_outcome, expected_info = theirs.step(action)
        np.testing.assert_array_equal(obs, expected)
        assert [reward, terminated, truncated] == expected_outcome
        assert info["lives"] == expected_info["lives"]
        assert info["episode_frame_number"] == expected_info["episode_frame_number"]
        done = terminated or truncated
        ended, score = ended + done, score + reward
    return ended, score


@pytest.mark.parametrize("name", ALE)
def test_a_game_equals_gymnasiums(name: str) -> None:
    ours = game(name, noop_max=0)
    theirs, idle = gymnasium_atari.make(ALE[name])
    assert ours.action_space == theirs.action_space
    assert ours.observation_space == theirs.observation_space
    assert list(ours.unwrapped.action_names) == theirs.unwrapped.get_action_meanings()
    ended, score = compare(ours, theirs, idle, 1_200)
    assert ended >= 1
    assert score > 0 or name == "JamesBond"  # there random actions score few points


@pytest.mark.parametrize("name", ALE)
def test_a_game_equals_gymnasiums_after_the_same_idle_frames(name: str) -> None:
    ended, _ = compare(game(name), *gymnasium_atari.make(ALE[name]), 800, 7)
    assert ended >= 1


@pytest.mark.parametrize(
    "options",
    [{"frameskip": 1}, {"frameskip": 2}, {"frameskip": 3}, {"stack": 1}, {"stack": 2}],
)
def test_other_frame_skips_and_stacks_equal_gymnasiums(options: dict[str, Any]) -> None:
    assert compare(game("Qbert", **options), *gymnasium_atari.make("Qbert", **options), 700)[1] > 0


def test_the_full_action_space_equals_gymnasiums() -> None:
    ours = game("Qbert", full_action_space=True)
    theirs, idle = gymnasium_atari.make("Qbert", full_action_space=True)
    assert ours.action_space.n == 18
    compare(ours, theirs, idle, 300)


def test_a_time_limit_in_frames_truncates() -> None:
    limit = {"max_num_frames_per_episode": 402}  # ALE's own counts the idle frames, too
    ours = game("Qbert", noop_max=0, **limit)
    assert compare(ours, *gymnasium_atari.make("Qbert", **limit), 300)[0] == 2


def test_sticky_actions_are_ales_own_with_its_seed() -> None:
    ours = make_env("ALE/Qbert-v5", {"noop_max": 0})
    theirs, _ = gymnasium_atari.make("Qbert", repeat_action_probability=0.25)
    rng = np.random.default_rng(0)
    compared = differing = 0
    for seed in range(8):
        expected, info = theirs.reset(seed=seed)
        console_seed = int(info["seeds"][1])  # ale-py hashes the seed; ours is used as it is
        if console_seed >= 2**31:
            continue
        compared += 1
        plain = game("Qbert", noop_max=0)
        plain.reset(seed=console_seed)
        obs, _ = ours.reset(seed=console_seed)
        for _ in range(150):
            np.testing.assert_array_equal(obs, expected)
            action = int(rng.integers(6))
            obs, reward, *_ = ours.step(action)
            expected, expected_reward, *_ = theirs.step(action)
            assert reward == expected_reward
            differing += not np.array_equal(obs, plain.step(action)[0])
    assert compared >= 2
    assert differing > 100  # so there were sticky actions


def test_clipped_rewards_are_the_signs_of_the_scores() -> None:
    qbert = "policy_inertia/Qbert-v0"
    clipped: Any = make_vector(qbert, 2, {"reward_clipping": True})[0]
    plain: Any = make_vector(qbert, 2)[0]
    rng, pairs = np.random.default_rng(0), []
    for envs in (clipped, plain):
        envs.reset(seed=[3, 4])
    for _ in range(250):
        actions = rng.integers(0, 6, 2)
        pairs.append((clipped.step(actions)[1], plain.step(actions)[1]))
    rewards, scores = np.array(pairs).swapaxes(0, 1)
    np.testing.assert_array_equal(rewards, np.sign(scores))
    assert scores.max() >= 25


def test_the_rendered_screen_is_ales_own() -> None:
    ours = game("Qbert", render_mode="rgb_array")
    theirs, idle = gymnasium_atari.make("Qbert", render_mode="rgb_array")
    rng = np.random.default_rng(0)
    for seed in (1, 2):
        _, info = ours.reset(seed=seed)
        idle.frames = info["episode_frame_number"]
        theirs.reset(seed=seed)
        for _ in range(60):
            np.testing.assert_array_equal(ours.render(), theirs.unwrapped.ale.getScreenRGB())
            action = int(rng.integers(6))
            ours.step(action)
            theirs.step(action)
    assert ours.render().shape == (210, 160, 3)
    assert ours.metadata["render_fps"] == 15
