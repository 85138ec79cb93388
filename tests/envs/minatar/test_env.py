"""MinAtar games: planes, seeds, exact restoring, and errors."""

import copy
import sys
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from policy_inertia.envs.making import make_env, make_vector
from policy_inertia.envs.minatar import GAMES, games
from policy_inertia.envs.minatar.env import EPISODE_FRAMES, MinAtarEnv
from policy_inertia.envs.registry import TASKS, env_id
from policy_inertia.envs.vector import Envs
from policy_inertia.errors import InputError
from policy_inertia.seeds import training_seed

needs_minatar = pytest.mark.skipif(
    find_spec("minatar") is None,
    reason="minatar is not installed: pip install 'policy-inertia[minatar]'",
)
PLANES = {"Asterix": 4, "Breakout": 4, "Freeway": 7, "Seaquest": 10, "SpaceInvaders": 6}
ACTIONS = {"Asterix": 5, "Breakout": 3, "Freeway": 3, "Seaquest": 6, "SpaceInvaders": 4}


def game(name: str, **options: Any) -> Any:
    return make_env(env_id(f"MinAtar-{name}"), options)


def play(env: Any, steps: int, seed: int = 0) -> list[Any]:
    """Take random actions to the end of an episode; return what every step gave."""
    actions = np.random.default_rng(seed).integers(0, env.action_space.n, steps)
    results: list[Any] = []
    for action in actions.tolist():
        obs, *rest = env.step(action)
        results.append((obs.tobytes(), *rest))
        if rest[1]:
            break
    return results


def test_every_game_is_a_task_of_its_own_family() -> None:
    ids = {env_id(f"MinAtar-{name}") for name in GAMES}
    assert ids == {name for name, task in TASKS.items() if task.family == "minatar"}
    assert ids < set(gym.registry)


@needs_minatar
@pytest.mark.parametrize("name", GAMES)
def test_a_game_has_boolean_planes_and_the_actions_that_it_uses(name: str) -> None:
    env = game(name)
    space = env.observation_space
    assert (space.shape, space.dtype) == ((10, 10, PLANES[name]), np.dtype(bool))
    assert env.action_space.n == len(env.get_wrapper_attr("action_names")) == ACTIONS[name]
    assert env.spec.max_episode_steps == EPISODE_FRAMES
    check_env(game(name, render_mode="rgb_array").unwrapped)


@needs_minatar
@pytest.mark.parametrize("name", GAMES)
def test_an_episode_depends_on_its_seed_and_actions_alone(name: str) -> None:
    fresh, used = (game(name, sticky_action_prob=0.5) for _ in range(2))
    used.reset(seed=1)
    play(used, 300)
    first = [env.reset(seed=7)[0].tobytes() for env in (fresh, used)]
    assert first[0] == first[1]
    assert play(fresh, 300, seed=2) == play(used, 300, seed=2)


@needs_minatar
def test_a_reset_forgets_the_last_action_of_sticky_actions() -> None:
    """MinAtar keeps it: where the first frame is sticky, the paddle would move to the right."""
    sticky = next(s for s in range(100) if first_draws(s)[1] < 0.1)
    fresh, used = game("Breakout"), game("Breakout")
    used.reset(seed=0)
    used.step(2)
    assert used.unwrapped._game.last_action == 3  # MinAtar's number of RIGHT
    states = []
    for env in (fresh, used):
        env.reset(seed=sticky)
        states.append(env.step(1)[0])
    np.testing.assert_array_equal(*states)


def first_draws(seed: int) -> tuple[int, float]:
    """What Breakout draws in a reset, and what sticky actions draw in the first step."""
    rng = np.random.RandomState(seed)  # as MinAtar does
    return rng.randint(2), rng.rand()


@needs_minatar
def test_a_copy_of_an_env_goes_on_in_the_same_way() -> None:
    env = game("Seaquest")
    env.reset(seed=4)
    play(env, 20)
    twin = copy.deepcopy(env)
    assert play(env, 100, seed=5) == play(twin, 100, seed=5)


@needs_minatar
@pytest.mark.parametrize("name", ["Asterix", "SpaceInvaders"])
def test_envs_are_restored_bit_for_bit(name: str) -> None:
    def envs() -> Envs:
        sticky = {"sticky_action_prob": 0.5}
        return Envs(env_id(f"MinAtar-{name}"), 2, lambda i, k: training_seed(0, i, k), sticky)

    one, two = envs(), envs()
    actions = np.random.default_rng(0).integers(0, one.spaces.discrete.n, (300, 2))
    for row in actions:
        one.step(row)
    assert (one.episode > 0).any()  # the state is one of a later episode
    assert two.restore(one.state())
    for row in actions:
        a, b = one.step(row), two.step(row)
        np.testing.assert_array_equal(a.next_obs, b.next_obs)
        np.testing.assert_array_equal(a.reward, b.reward)


@needs_minatar
def test_an_episode_is_truncated_at_its_limit() -> None:
    env = game("Freeway", max_episode_steps=12)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(12)]
    assert ends == [(False, False)] * 11 + [(False, True)]


@needs_minatar
def test_sticky_actions_and_ramping_are_options() -> None:
    own = game("Asterix").unwrapped._game
    assert (own.sticky_action_prob, own.env.ramping) == (0.1, False)
    given = game("Asterix", sticky_action_prob=0, difficulty_ramping=True).unwrapped._game
    assert (given.sticky_action_prob, given.env.ramping) == (0.0, True)


@needs_minatar
@pytest.mark.parametrize("name", GAMES)
def test_planes_are_bytes_with_their_channels_first(name: str) -> None:
    vector, spaces = make_vector(env_id(f"MinAtar-{name}"), 2)
    obs, _ = vector.reset(seed=[0, 1])  # type: ignore[arg-type]
    for _ in range(4):  # a random game of Breakout may end soon after
        obs, *_ = vector.step(np.array([1, 2]))
    vector.close()
    encoded = spaces.encode(obs)
    assert spaces.spec.image == (PLANES[name], 10, 10)
    assert spaces.spec.frames == (1, PLANES[name] * 10, 10)
    assert (encoded.dtype, set(np.unique(encoded))) == (np.dtype(np.uint8), {0, 255})
    images = encoded.reshape(2, PLANES[name], 10, 10) == 255
    np.testing.assert_array_equal(images[:, 0], obs[..., 0])
    np.testing.assert_array_equal(spaces.decode(encoded), obs)
    assert type(spaces).from_dict(spaces.to_dict()) == spaces


@needs_minatar
def test_a_game_is_drawn() -> None:
    env = game("Breakout", render_mode="rgb_array")
    env.reset(seed=0)
    frame = env.render()
    assert (frame.shape, frame.dtype) == ((160, 160, 3), np.uint8)
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) >= 4  # bricks, ball, paddle, background


@pytest.mark.parametrize(
    ("env", "kwargs", "says"),
    [
        ("policy_inertia/MinAtar-Brekout-v0", {}, "did you mean 'policy_inertia/MinAtar-Breakout"),
        ("policy_inertia/MinAtar-Asterix-v0", {"game": "pong"}, "there is no game 'pong'"),
        (
            "policy_inertia/MinAtar-Asterix-v0",
            {"sticky_action_prob": 1},
            "sticky_action_prob is 1: it must be a number from 0 to below 1",
        ),
        (
            "policy_inertia/MinAtar-Asterix-v0",
            {"difficulty_ramping": "no"},
            "difficulty_ramping is 'no': it must be True or False",
        ),
    ],
)
def test_a_wrong_name_or_option_is_refused_in_one_sentence(
    env: str, kwargs: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make_vector(env, 2, kwargs)
    assert "\n" not in str(caught.value)


@needs_minatar
def test_a_wrong_action_or_render_mode_is_refused() -> None:
    with pytest.raises(InputError, match="there is no render_mode 'rgb': choose one of rgb_array"):
        MinAtarEnv("breakout", render_mode="rgb")
    env = MinAtarEnv("breakout")
    env.reset(seed=0)
    with pytest.raises(InputError, match="an action is a number from 0 to 2, got 3"):
        env.step(3)


def test_without_minatar_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    games.library.cache_clear()
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "minatar", None)
        with pytest.raises(InputError, match=r"need minatar: pip install 'policy-inertia\[minatar"):
            make_env("policy_inertia/MinAtar-Breakout-v0")
    games.library.cache_clear()
