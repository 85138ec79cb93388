"""Our games against Gymnasium's AtariPreprocessing and FrameStackObservation, pixel by pixel."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia.envs.making import make_env, make_vector
from tests.envs.atari import original

ALE = {
    "MsPacman": "MsPacman",
    "SpaceInvaders": "SpaceInvaders",
    "Qbert": "Qbert",
    "JamesBond": "Jamesbond",
}


def compare(
    ours: Any, theirs: Any, idle: original.Idle, steps: int, seed: int = 0
) -> tuple[int, float]:
    """Play both with the same random actions from the same starts: episodes ended, points made."""
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
        expected, paid, over, out, told = theirs.step(action)
        np.testing.assert_array_equal(obs, expected)
        assert (reward, terminated, truncated) == (paid, over, out)
        assert info["lives"] == told["lives"]
        assert info["episode_frame_number"] == told["episode_frame_number"]
        done = terminated or truncated
        ended, score = ended + done, score + reward
    return ended, score


@pytest.mark.parametrize("game", ALE)
def test_a_game_is_gymnasiums_own(game: str) -> None:
    ours: Any = make_env(f"policy_inertia/{game}-v0", {"noop_max": 0})
    theirs: Any
    theirs, idle = original.make(ALE[game])
    assert ours.action_space == theirs.action_space
    assert ours.observation_space == theirs.observation_space
    assert list(ours.unwrapped.action_names) == theirs.unwrapped.get_action_meanings()
    ended, score = compare(ours, theirs, idle, 1_200)
    assert ended >= 1
    assert score > 0 or game == "JamesBond"  # where random play makes few points


@pytest.mark.parametrize("game", ALE)
def test_a_game_that_begins_with_idle_frames_is_gymnasiums_after_as_many(game: Any) -> None:
    ended, _ = compare(make_env(f"policy_inertia/{game}-v0"), *original.make(ALE[game]), 800, 7)
    assert ended >= 1


@pytest.mark.parametrize(
    "options",
    [{"frameskip": 1}, {"frameskip": 2}, {"frameskip": 3}, {"stack": 1}, {"stack": 2}],
)
def test_other_skips_and_stacks(options: dict[str, Any]) -> None:
    ours = make_env("policy_inertia/Qbert-v0", options)
    assert compare(ours, *original.make("Qbert", **options), 700)[1] > 0


def test_all_actions() -> None:
    ours = make_env("policy_inertia/Qbert-v0", {"full_action_space": True})
    theirs, idle = original.make("Qbert", full_action_space=True)
    assert ours.action_space == gym.spaces.Discrete(18)
    compare(ours, theirs, idle, 300)


def test_a_time_limit_in_frames_truncates() -> None:
    limit = {"max_num_frames_per_episode": 402}  # ALE's own counts the idle frames, too
    ours = make_env("policy_inertia/Qbert-v0", {"noop_max": 0} | limit)
    assert compare(ours, *original.make("Qbert", **limit), 300)[0] == 2


def test_sticky_actions_are_ales_own_from_its_seed() -> None:
    ours = make_env("ALE/Qbert-v5", {"noop_max": 0})
    theirs, _ = original.make("Qbert", repeat_action_probability=0.25)
    rng = np.random.default_rng(0)
    compared = differs = 0
    for seed in range(8):
        expected, info = theirs.reset(seed=seed)
        drawn = int(info["seeds"][1])  # what ale-py makes of a seed; ours is given as it is
        if drawn >= 2**31:
            continue
        compared += 1
        plain = make_env("policy_inertia/Qbert-v0", {"noop_max": 0})
        plain.reset(seed=drawn)
        obs, _ = ours.reset(seed=drawn)
        for _ in range(150):
            np.testing.assert_array_equal(obs, expected)
            action = int(rng.integers(6))
            obs, reward, *_ = ours.step(action)
            expected, paid, *_ = theirs.step(action)
            assert reward == paid
            differs += not np.array_equal(obs, plain.step(action)[0])
    assert compared >= 2
    assert differs > 100  # so sticky actions were there


def test_clipped_rewards_are_the_signs_of_the_scores() -> None:
    clipped: Any = make_vector("policy_inertia/Qbert-v0", 2, {"reward_clipping": True})[0]
    plain: Any = make_vector("policy_inertia/Qbert-v0", 2)[0]
    rng, paid = np.random.default_rng(0), []
    for env in (clipped, plain):
        env.reset(seed=[3, 4])
    for _ in range(250):
        actions = rng.integers(0, 6, 2)
        paid.append((clipped.step(actions)[1], plain.step(actions)[1]))
    ours, scores = np.array(paid).swapaxes(0, 1)
    np.testing.assert_array_equal(ours, np.sign(scores))
    assert scores.max() >= 25


def test_the_rendered_screen_is_ales_own() -> None:
    ours = make_env("policy_inertia/Qbert-v0", {"render_mode": "rgb_array"})
    theirs: Any
    theirs, idle = original.make("Qbert", render_mode="rgb_array")
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
