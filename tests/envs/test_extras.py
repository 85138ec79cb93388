"""Tasks of Gymnasium that need packages of their own."""

import sys

import numpy as np
import pytest

import policy_inertia as pi
from policy_inertia.envs.making import EXTRAS, make_env

TASKS = {
    "Hopper-v5": "mujoco",
    "Reacher-v5": "mujoco",
    "LunarLanderContinuous-v3": "box2d",
    "LunarLander-v3": "box2d",
}
PACKAGES = {"mujoco": "mujoco", "box2d": "Box2D"}


@pytest.mark.parametrize("task", TASKS)
def test_missing_extra_is_named_in_one_sentence(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = TASKS[task]
    (home,) = (module for module, name in EXTRAS.items() if name == extra)
    for name in [name for name in sys.modules if name.startswith((home, PACKAGES[extra]))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, PACKAGES[extra], None)
    with pytest.raises(pi.InputError, match=rf"^{task} needs a package .*'policy-inertia\[{extra}"):
        make_env(task)


@pytest.mark.parametrize("task", ["Hopper-v5", "Reacher-v5", "LunarLanderContinuous-v3"])
def test_continuous_tasks_are_evaluated_filtered_and_measured(task: str) -> None:
    pytest.importorskip(PACKAGES[TASKS[task]])
    env = make_env(task)
    weights = np.random.default_rng(0).normal(0, 3, (env.observation_space.shape[0], 9))  # type: ignore[index]
    env.close()
    numbers = env.action_space.shape[0]  # type: ignore[index]
    core = pi.load_core(lambda obs: np.tanh(obs @ weights[:, :numbers]), task)
    figures = [
        pi.evaluate(policy, task, 1, env_kwargs={"max_episode_steps": 30}).summary()
        for policy in (core, core.with_filter(pi.Exponential(0.1)))
    ]
    assert figures[1]["action_fluctuation"] < figures[0]["action_fluctuation"]
