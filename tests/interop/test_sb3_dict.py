"""Policies over Dict observations, trained by Stable-Baselines3."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest

import policy_inertia as pi
from policy_inertia import InputError, load_core
from policy_inertia.interop.onnx_observations import observation_feed
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.probing import example_observations
from tests.support.dict_env import Cockpit
from tests.support.poison import poisoned_zips

Trained = Callable[..., tuple[Any, Any]]


@pytest.fixture(scope="module")
def trained() -> Trained:
    """Models by algorithm, the env's arguments, and whether it is inside a VecNormalize."""
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)
    settings: dict[str, dict[str, Any]] = {
        "PPO": {"n_steps": 64, "batch_size": 64, "n_epochs": 2},
        "DQN": {"learning_starts": 32, "buffer_size": 200, "batch_size": 8},
    }
    models: dict[Any, tuple[Any, Any]] = {}

    def get(name: str, keys: tuple[str, ...] = (), **env: Any) -> tuple[Any, Any]:
        if (key := (name, keys, *env)) not in models:
            venv: Any = make_vec_env(partial(Cockpit, **env), 1, seed=0)
            if keys:
                venv = VecNormalize(venv, norm_obs_keys=list(keys), clip_obs=1.5)
            cls = getattr(sb3, name)
            model = cls("MultiInputPolicy", venv, device="cpu", seed=0, **settings[name])
            models[key] = model.learn(128), venv
        return models[key]

    return get


def sb3_scores(model: Any, obs: dict[str, np.ndarray]) -> np.ndarray:
    """Q-values or log-probabilities as Stable-Baselines3 computes them."""
    import torch

    policy = model.policy
    policy.set_training_mode(False)
    with torch.no_grad():
        tensors = policy.obs_to_tensor(obs)[0]
        if hasattr(policy, "q_net"):
            return policy.q_net(tensors).numpy()
        return policy.get_distribution(tensors).distribution.logits.numpy()


def examples(env: gym.Env, n: int) -> dict[str, np.ndarray]:
    rows = []
    observation, _ = env.reset(seed=3)
    for _ in range(n):
        rows.append(observation)
        observation, *_ = env.step(1)
    return {key: np.stack([np.asarray(row[key]) for row in rows]) for key in rows[0]}


CASES: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("PPO", (), {}),
    ("DQN", (), {}),
    ("PPO", ("zeta",), {}),
    ("DQN", ("alpha", "zeta"), {"numbers_only": True}),
    ("PPO", (), {"picture": True}),
]


@pytest.mark.parametrize(("name", "keys", "env"), CASES)
def test_core_acts_as_the_model_live_and_from_its_zip(
    name: str, keys: tuple[str, ...], env: dict[str, Any], trained: Trained, tmp_path: Path
) -> None:
    model, venv = trained(name, keys, **env)
    model.save(tmp_path / "model.zip")
    normalise: Any = None
    if keys:
        normalise = tmp_path / "statistics.pkl"
        venv.save(normalise)
    obs = examples(Cockpit(**env), 30)
    seen = venv.normalize_obs(obs) if keys else obs
    if "camera" in obs:
        seen = seen | {"camera": np.moveaxis(obs["camera"], -1, 1)}
    theirs = sb3_scores(model, seen)
    make = partial(Cockpit, **env)
    for core in (
        load_core(model, make),
        load_core(tmp_path / "model.zip", make, normalise=normalise),
    ):
        assert core.layers is not None
        scores = core.scores(obs)
        np.testing.assert_allclose(scores, theirs, atol=1e-5)
        one = {key: value[4] for key, value in obs.items()}
        assert core.predict(one, deterministic=True)[0] == theirs[4].argmax()


@pytest.mark.parametrize(("name", "keys", "env"), [CASES[0], CASES[2], CASES[4]])
def test_exported_policy_takes_the_same_actions_over_whole_episodes(
    name: str, keys: tuple[str, ...], env: dict[str, Any], trained: Trained, tmp_path: Path
) -> None:
    model, _ = trained(name, keys, **env)
    core = load_core(model, partial(Cockpit, **env)).with_hysteresis(0.05)
    pi.export(core, tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    inputs = {i.name for i in session.get_inputs()}
    keys_of_env = set(cast(gym.spaces.Dict, Cockpit(**env).observation_space).keys())
    assert inputs == {"previous_action"} | {f"observation_{key}" for key in keys_of_env}
    task = Cockpit(**env)
    for seed in range(3):
        observation, _ = task.reset(seed=seed)
        state, previous, done = None, np.array([-1]), False
        while not done:
            flat = core.spaces.flat(observation)
            action, state = core.predict(observation, state, deterministic=True)
            feed = observation_feed(core.spaces, flat[None])
            (previous,) = session.run(["action"], {**feed, "previous_action": previous})
            assert previous[0] == action
            observation, _, _, done, _ = task.step(int(action))


def test_smoothed_policy_with_its_controller_is_saved_and_exported(
    trained: Trained, tmp_path: Path
) -> None:
    model, _ = trained("PPO", ("zeta",))
    result = pi.smooth(
        model, Cockpit, budget=0.1, steps=200, episodes=4, train=True, out=tmp_path / "smooth",
        calibration_episodes=2, envs=2, hidden=[16],
    )  # fmt: skip
    policy = result.candidates["controller"].policy
    policy.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    obs = examples(Cockpit(), 20)
    np.testing.assert_array_equal(
        loaded.predict(obs, deterministic=True)[0], policy.predict(obs, deterministic=True)[0]
    )
    assert pi.export(loaded, tmp_path / "policy.onnx").difference < 1e-4
    evaluation = pi.evaluate(loaded, Cockpit, episodes=2, deterministic=True)
    assert evaluation.summary()["length"] == 20


def test_poisoned_zip_runs_nothing(trained: Trained, tmp_path: Path) -> None:
    trained("PPO")[0].save(tmp_path / "model.zip")
    data, weights = poisoned_zips(tmp_path / "model.zip", tmp_path, tmp_path / "trace")
    assert load_core(data, Cockpit).layers is not None
    with pytest.raises(InputError, match="cannot be read as the weights"):
        load_core(weights, Cockpit)
    assert not (tmp_path / "trace").exists()


def test_function_of_dict_observations_is_a_core() -> None:
    def sign(obs: dict[str, Any]) -> Any:
        return int(obs["zeta"].mean() > 0)

    core = load_core(sign, Cockpit)
    obs = examples(Cockpit(), 10)
    expected = (obs["zeta"].mean((1, 2)) > 0).astype(int)
    np.testing.assert_array_equal(core.predict(obs, deterministic=True)[0], expected)
    env = pi.SmoothActions(Cockpit(), limit=pi.Limit(0.0, 1.0))
    env.reset(seed=0)
    held = [env.step(action)[4]["held"] for action in (0, 1, 0, 1)]
    assert held == [False, False, True, False]


def test_what_has_no_vector_is_refused(trained: Trained, tmp_path: Path) -> None:
    class Words(Cockpit):
        def __init__(self) -> None:
            self.observation_space = gym.spaces.Dict({"word": gym.spaces.Text(5)})

    with pytest.raises(InputError, match=r"has the entry 'word' of Text .* expected Box"):
        pi.evaluate(lambda obs: 0, Words, episodes=1)  # type: ignore[arg-type]
    core = load_core(trained("PPO")[0], Cockpit)
    with pytest.raises(InputError, match="has no entry 'gear'"):
        core.predict({"zeta": np.zeros((1, 2, 2))})
    model, _ = trained("PPO")
    model.save(tmp_path / "m.zip")
    flat = partial(Cockpit, numbers_only=True)
    with pytest.raises(InputError, match=r"observations of shape|does not take"):
        load_core(tmp_path / "m.zip", flat)
    assert example_observations(core.space, 5).shape == (5, 17)
