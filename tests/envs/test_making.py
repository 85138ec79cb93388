"""Env objects where an id or a function is taken too."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation

import policy_inertia as pi
from policy_inertia.calibration.within_limits import within_limits
from policy_inertia.envs.making import copyable, make_env, make_vector, source_of
from policy_inertia.evaluation.recording import record
from tests.support.policies import fresh
from tests.support.runs import SHORT


class Local(gym.Wrapper):
    """A wrapper that cannot be made again: it does not record its arguments."""


class Counting(gym.Env):
    """An env without a spec; an episode has five steps."""

    observation_space = gym.spaces.Box(-1, 1, (4,))
    action_space = gym.spaces.Discrete(2)
    render_mode = "rgb_array"
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - as Gymnasium's own envs have it
    resets = closed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.resets, self.steps = self.resets + 1, 0
        return self.np_random.uniform(-1, 1, 4).astype(np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        obs = self.np_random.uniform(-1, 1, 4).astype(np.float32)
        return obs, 1.0, False, self.steps == 5, {}

    def render(self) -> Any:
        return np.zeros((4, 4, 3), np.uint8)

    def close(self) -> None:
        self.closed += 1


def test_env_object_is_evaluated_as_its_id_and_arguments() -> None:
    policy = fresh("nsac")
    env = gym.make("CartPole-v1", sutton_barto_reward=True, max_episode_steps=9)
    kwargs = {"sutton_barto_reward": True, "max_episode_steps": 9}
    assert source_of(env) == ("CartPole-v1", kwargs)
    expected = pi.evaluate(policy, "CartPole-v1", 3, env_kwargs=kwargs).summary()
    assert pi.evaluate(policy, env, 3).summary() == expected
    assert expected["length"] <= 9
    changed = pi.evaluate(policy, env, 3, env_kwargs={"max_episode_steps": 4}).summary()
    assert changed["length"] == 4
    env.reset(seed=0)  # it was neither stepped nor closed
    env.step(0)


def test_wrappers_of_an_env_object_are_made_again() -> None:
    env = TimeAwareObservation(gym.make("CartPole-v1", render_mode="human"))
    vector, spaces = make_vector(env, 3)
    assert spaces.obs_shape == (5,)
    assert vector.num_envs == 3
    made, _ = source_of(env)
    assert made.__name__ == "TimeAwareObservation(CartPole-v1)"
    assert make_env(env).render_mode is None  # no windows


@pytest.mark.parametrize("wrap", [lambda env: env, Local])
def test_object_without_a_spec_is_a_batch_of_one_and_stays_open(wrap: Any) -> None:
    env = Counting()
    policy = fresh("dqn", env=Counting)
    evaluation = pi.evaluate(policy, wrap(env), 3, deterministic=True)
    assert [len(e) for e in evaluation.episodes] == [5, 5, 5]
    assert evaluation.summary() == pi.evaluate(policy, Counting, 3, deterministic=True).summary()
    assert env.resets >= 3
    assert env.closed == 0


def test_object_in_a_wrapper_that_cannot_be_made_again_is_used_itself() -> None:
    env = Local(gym.make("CartPole-v1"))
    assert source_of(env) == (env, {})
    assert pi.evaluate(fresh("dqn"), env, 2).summary()["episodes"] == 2


def test_calibration_recording_and_limits_take_env_objects() -> None:
    policy, env = fresh("dqn"), gym.make("CartPole-v1", max_episode_steps=20)
    calibrated = pi.calibrate(policy, env, 2, settings=[0.0])
    assert calibrated.calibration is not None
    assert calibrated.calibration.task == "CartPole-v1"
    assert len(within_limits(policy, env, 1, limits=[pi.Limit(0.1)])) == 1
    (drawn,) = record(policy, env, steps=2)  # a copy that draws
    assert drawn.env == "CartPole-v1"
    assert drawn.steps[0].frame is not None
    other = Counting()
    (drawn,) = record(fresh("dqn", env=Counting), other, steps=2)
    assert drawn.steps[0].frame is not None
    assert other.closed == 0


def test_several_copies_of_an_object_without_a_spec_are_refused() -> None:
    for make in (lambda: copyable(Counting()), lambda: make_vector(Counting(), 2)):
        with pytest.raises(pi.InputError, match="Counting is an env without a spec, and several"):
            make()
    with pytest.raises(pi.InputError, match="and arguments are given for it"):
        pi.evaluate(fresh("dqn", env=Counting), Counting(), 1, env_kwargs={"x": 1})


def test_other_things_are_no_envs() -> None:
    vector: Any = gym.make_vec("CartPole-v1", 2)
    with pytest.raises(pi.InputError, match=r"give a Gymnasium id, a function .*, or an env"):
        pi.evaluate(fresh("dqn"), vector, 1)


def test_training_stores_the_arguments_of_an_env_object(tmp_path: Path) -> None:
    env = gym.make("CartPole-v1", sutton_barto_reward=True)
    policy = pi.train("dqn", env, tmp_path / "run", **{**SHORT, "steps": 40, "eval_every": 40})
    assert (policy.task, policy.env_kwargs) == ("CartPole-v1", {"sutton_barto_reward": True})
    with pytest.raises(pi.InputError, match="and several copies of it are needed"):
        pi.train("dqn", Counting(), tmp_path / "other")
