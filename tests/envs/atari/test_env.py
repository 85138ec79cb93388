import threading
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv

from policy_inertia.envs.atari import GameEnv, GameVectorEnv
from policy_inertia.envs.making import make_env, make_vector
from policy_inertia.envs.spaces import Spaces
from policy_inertia.envs.vector import Envs, episode_seed
from policy_inertia.errors import InputError
from policy_inertia.evaluation.recording import record

QBERT = "policy_inertia/Qbert-v0"


def envs_of(n: int, name: str = QBERT, **kwargs: Any) -> Envs:
    return Envs(name, n, lambda i, k: episode_seed(0, i, k), kwargs)


def games(env: str, n: int, kwargs: dict[str, Any] | None = None) -> tuple[Any, Spaces]:
    """A batch of games, whose `reset` takes a seed for each env."""
    return make_vector(env, n, kwargs)


def drive(envs: Envs, steps: int, seed: int = 0) -> list[Any]:
    """Random actions, of env i whatever the number of envs; what all steps gave."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, envs.spaces.discrete.n, (steps, 8))
    return [envs.step(actions[t, : envs.n]) for t in range(steps)]


def test_gymnasiums_checker_has_nothing_to_say() -> None:
    check_env(make_env(QBERT, {"render_mode": "rgb_array"}).unwrapped)


def test_batches_are_ours_in_one_thread_and_leave_resets_to_the_caller() -> None:
    before = threading.active_count(), dict(VectorEnv.metadata)
    vector, spaces = games(QBERT, 3)
    assert isinstance(vector.unwrapped, GameVectorEnv)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    assert (threading.active_count(), VectorEnv.metadata) == before
    assert (spaces.obs_shape, spaces.discrete.n) == ((4, 84, 84), 6)
    obs, info = vector.reset(seed=[5, 6, 7])
    assert (obs.shape, obs.dtype) == ((3, 4, 84, 84), np.uint8)
    assert info["lives"].tolist() == [4, 4, 4]
    kept = obs.copy()
    vector.step([0, 1, 2])
    np.testing.assert_array_equal(obs, kept)
    vector.close()


def test_only_the_masked_envs_are_reset_and_the_others_stay_as_they_are() -> None:
    vector, _ = games(QBERT, 3)
    first, _ = vector.reset(seed=[5, 6, 7])
    for _ in range(20):
        last, *_ = vector.step([1, 2, 3])
    mask = np.array([False, True, False])
    obs, info = vector.reset(seed=[None, 6, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(obs[1], first[1])
    np.testing.assert_array_equal(obs[~mask], last[~mask])
    assert info["_lives"].tolist() == mask.tolist()


@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_an_episode_does_not_depend_on_the_envs_beside_it(sticky: float) -> None:
    alone, together = (drive(envs_of(n, repeat_action_probability=sticky), 450) for n in (1, 3))
    ended = 0
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.next_obs[0], b.next_obs[0])
        assert (a.reward[0], a.terminated[0]) == (b.reward[0], b.terminated[0])
        ended += a.done[0]
    assert ended >= 1


@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_an_episode_does_not_depend_on_what_came_before(sticky: float) -> None:
    fresh, used = (make_env(QBERT, {"repeat_action_probability": sticky}) for _ in range(2))
    used.reset(seed=1)
    done = False
    while not done:  # a whole game, and a cut one
        _, _, done, _, _ = used.step(3)
    used.reset(seed=2)
    used.step(4)
    rng = np.random.default_rng(0)
    for env in (fresh, used):
        env.reset(seed=99)
    for _ in range(200):
        action = rng.integers(6)
        one, other = fresh.step(action), used.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:] == other[1:]


@pytest.mark.parametrize(
    "options", [{}, {"repeat_action_probability": 0.25}, {"episodic_life": True}]
)
@pytest.mark.parametrize("steps", [130, 330])
def test_envs_come_back_bit_for_bit(steps: int, options: dict[str, Any]) -> None:
    one, two = envs_of(2, **options), envs_of(2, **options)
    drive(one, steps)
    assert two.restore(one.state())
    np.testing.assert_array_equal(one.episode, two.episode)
    assert one.actions == two.actions
    for a, b in zip(drive(one, 60, seed=1), drive(two, 60, seed=1), strict=True):
        np.testing.assert_array_equal(a.next_obs, b.next_obs)
        np.testing.assert_array_equal(a.reward, b.reward)
        np.testing.assert_array_equal(a.done, b.done)
    np.testing.assert_array_equal(one.episode, two.episode)
    np.testing.assert_array_equal(one.obs, two.obs)


@pytest.mark.parametrize("options", [{}, {"episodic_life": True}, {"max_episode_steps": 150}])
def test_a_single_env_is_a_batch_of_one(options: dict[str, Any]) -> None:
    single = make_env(QBERT, options)
    vector, _ = games(QBERT, 2, options)
    seen, _ = vector.reset(seed=[1, 2])
    obs, _ = single.reset(seed=2)
    rng, seed, ended = np.random.default_rng(0), 2, 0
    for _ in range(500):
        np.testing.assert_array_equal(obs, seen[1])
        actions = rng.integers(0, 6, 2)
        seen, reward, terminated, truncated, infos = vector.step(actions)
        obs, paid, over, out, info = single.step(actions[1])
        np.testing.assert_array_equal(obs, seen[1])
        assert (paid, over, out) == (reward[1], terminated[1], truncated[1])
        assert info == {k: v[1] for k, v in infos.items() if k[0] != "_"}
        done = terminated | truncated
        if done.any():
            on = infos.get("goes_on", np.zeros(2, bool))
            seed += 1
            seeds = [None if on[i] or not done[i] else seed for i in range(2)]
            seen, _ = vector.reset(seed=seeds, options={"reset_mask": done})
        if over or out:
            ended += 1
            obs, _ = single.reset(seed=seeds[1])
    assert ended >= (2 if options else 1)


def test_a_lost_life_ends_an_episode_and_the_next_goes_on_in_the_same_game() -> None:
    lives, whole = make_env(QBERT, {"episodic_life": True}), make_env(QBERT)
    _, before = whole.reset(seed=4)
    obs, _ = lives.reset(seed=4)
    rng, ends, age, total = np.random.default_rng(0), [], 1, 0.0
    over = False
    while not over:
        action = int(rng.integers(6))
        raw, paid, over, _, after = whole.step(action)
        obs, reward, ended, truncated, info = lives.step(action)
        age += 1
        np.testing.assert_array_equal(obs[-min(age, 4) :], raw[-min(age, 4) :])
        assert not obs[: max(4 - age, 0)].any()  # what was seen in another life is blank
        assert (reward, info["lives"], truncated) == (paid, after["lives"], False)
        assert ended == (over or after["lives"] < before["lives"])
        assert info["goes_on"] == (ended and not over)
        total, before = total + float(paid), after
        if ended and not over:
            ends.append(after["lives"])
            with pytest.raises(gym.error.ResetNeeded):
                lives.step(0)
            obs, info = lives.reset()
            assert info["lives"] == after["lives"]
            np.testing.assert_array_equal(obs[-1], raw[-1])
            age = 1
    assert ends == [3, 2, 1]
    assert total > 0
    assert lives.reset()[1]["lives"] == 4


def test_a_seed_begins_a_new_game_even_where_the_old_one_could_go_on() -> None:
    env = make_env(QBERT, {"episodic_life": True})
    first, _ = env.reset(seed=4)
    done = False
    while not done:
        *_, done, _, info = env.step(3)
    assert info["goes_on"]
    again, info = env.reset(seed=4)
    np.testing.assert_array_equal(again, first)
    assert info["lives"] == 4


def test_envs_give_each_life_its_own_episode() -> None:
    envs = envs_of(2, episodic_life=True)
    steps = drive(envs, 350)
    ended = np.sum([s.done for s in steps], axis=0)
    np.testing.assert_array_equal(envs.episode, ended)
    assert ended.min() >= 3
    on = [s.info["goes_on"] for s in steps]
    assert np.sum(on) >= 4
    last = max(t for t, s in enumerate(steps) if s.done[0])
    assert len(envs.actions[0]) == len(steps) - 1 - last


def test_max_episode_steps_truncates_batches_too() -> None:
    vector, _ = games(QBERT, 2, {"max_episode_steps": 5})
    vector.reset(seed=0)
    ends = [vector.step([0, 0])[3].tolist() for _ in range(5)]
    assert ends == [[False, False]] * 4 + [[True, True]]


def test_large_seeds_count_and_resets_without_one_differ() -> None:
    env = make_env(QBERT)
    starts = [env.reset(seed=s)[1]["episode_frame_number"] for s in (2**31 + 7, 7, 2**32 - 1)]
    assert starts[0] == starts[1]
    assert len({env.reset()[1]["episode_frame_number"] for _ in range(8)}) > 2


def test_a_game_begins_with_up_to_29_idle_frames() -> None:
    env = make_env(QBERT)
    drawn = {env.reset(seed=s)[1]["episode_frame_number"] for s in range(40)}
    assert drawn < set(range(30))
    assert len(drawn) > 12
    for most in (0, 1):
        assert make_env(QBERT, {"noop_max": most}).reset(seed=3)[1]["episode_frame_number"] == 0


def test_steps_that_cannot_be_are_refused() -> None:
    vector, _ = games(QBERT, 2)
    with pytest.raises(gym.error.ResetNeeded, match="env 0 must be reset"):
        vector.step([0, 0])
    with pytest.raises(InputError, match="first reset must be of all 2"):
        vector.reset(options={"reset_mask": np.array([True, False])})
    vector.reset(seed=0)
    for wrong in ([0, 6], [0], [0.5, 1.0]):
        with pytest.raises(InputError, match="action"):
            vector.step(wrong)
    with pytest.raises(InputError, match="seed must be 0 or more"):
        vector.reset(seed=[-1, 2])
    vector.step([0, 5])


class Anything:
    """Acts at random."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert observation.shape == (1, 4, 84, 84)
        return np.array([len(observation) + 1]), state


def test_an_episode_can_be_recorded_in_colour() -> None:
    (recording,) = record(Anything(), QBERT, limit=12)
    assert recording.actions == ("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN")
    assert len(recording.steps) == 12
    assert all(m.frame.startswith(b"\x89PNG") for m in recording.steps)


def test_a_render_mode_is_one_that_there_is() -> None:
    with pytest.raises(InputError, match=r"no render_mode 'human'.*rgb_array"):
        GameEnv(render_mode="human")
    with pytest.raises(InputError, match="a batch is not drawn"):
        GameVectorEnv(2, render_mode="rgb_array")
    with pytest.raises(gym.error.ResetNeeded):
        GameEnv(render_mode="rgb_array").render()
