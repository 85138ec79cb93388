"""Policies that remember: RecurrentPPO, and models that were trained in a VecFrameStack."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest

import policy_inertia as pi
from policy_inertia import Core, InputError, load_core
from policy_inertia.interop.numpy_runtime import Policy as NumpyPolicy
from policy_inertia.policies.policy import Policy
from tests.support.poison import poisoned_zips
from tests.support.sb3_models import Pictures
from tests.support.sb3_zips import data_of, weights_of, with_data, with_weights

ENV = "CartPole-v1"
Trained = Callable[[str], tuple[Any, Any]]


def _venv(n: int = 1, env: Any = ENV) -> Any:
    from stable_baselines3.common.env_util import make_vec_env

    short = {"max_episode_steps": 20} if env == ENV else {}
    return make_vec_env(env, n, seed=0, env_kwargs=short)


def _recurrent(layers: int = 1) -> tuple[Any, Any]:
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.vec_env import VecNormalize

    venv = VecNormalize(_venv(), clip_obs=5.0)
    kwargs = {"lstm_hidden_size": 12, "n_lstm_layers": layers, "net_arch": [16]}
    model = RecurrentPPO(
        "MlpLstmPolicy", venv, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu",
        policy_kwargs=kwargs, learning_rate=3e-3,
    )  # fmt: skip
    return model.learn(128), venv


def _stacked() -> tuple[Any, Any]:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

    venv = VecFrameStack(VecNormalize(_venv(), clip_obs=5.0), 3)
    settings: dict[str, Any] = {"n_steps": 64, "batch_size": 64, "n_epochs": 2}
    return PPO("MlpPolicy", venv, seed=0, device="cpu", **settings).learn(128), venv


def _stacked_pictures() -> tuple[Any, Any]:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecFrameStack

    venv = VecFrameStack(_venv(env=Pictures), 2)
    settings: dict[str, Any] = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
    return PPO("CnnPolicy", venv, seed=0, device="cpu", **settings).learn(16), venv


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "recurrent": _recurrent,
    "two layers": lambda: _recurrent(2),
    "stacked": _stacked,
    "stacked pictures": _stacked_pictures,
}


@pytest.fixture(scope="module")
def trained() -> Trained:
    import torch

    torch.set_num_threads(1)
    models: dict[str, tuple[Any, Any]] = {}

    def get(name: str) -> tuple[Any, Any]:
        if name not in models:
            models[name] = MODELS[name]()
            _enliven(models[name][0].policy)
        return models[name]

    return get


def _enliven(policy: Any) -> None:
    """Make a policy that was trained for seconds react to what it sees and remembers."""
    import torch

    with torch.no_grad():
        policy.action_net.weight *= 30
        for name, weights in policy.named_parameters():
            if "bias" in name:
                weights *= 0
            if "lstm_actor.weight" in name:
                weights *= 3


def env_of(name: str) -> Any:
    return Pictures if "pictures" in name else ENV


def core_of(name: str, trained: Trained, tmp_path: Path) -> Core:
    """The core from the files of a model."""
    model, venv = trained(name)
    model.save(tmp_path / "model.zip")
    statistics = model.get_vec_normalize_env()
    if statistics is not None:
        statistics.save(tmp_path / "statistics.pkl")
    frames = venv.stacked_obs.n_stack if "stacked" in name else None
    return load_core(
        tmp_path / "model.zip",
        env_of(name),
        normalise=statistics and tmp_path / "statistics.pkl",
        frame_stack=frames,
    )


def their_actions(name: str, trained: Trained, steps: int) -> tuple[list[int], list[Any]]:
    """What the model does in its own venv, and the raw observations that it saw."""
    model, venv = trained(name)
    normaliser = model.get_vec_normalize_env()
    if normaliser is not None:
        normaliser.training = False
    model.set_env(venv)
    venv.seed(5)
    obs, state, starts = venv.reset(), None, np.ones(1, bool)
    actions, seen = [], []
    for _ in range(steps):
        raw = normaliser.get_original_obs() if normaliser is not None else _newest(obs)
        seen.append((raw[0].copy(), bool(starts[0])))
        action, state = model.predict(obs, state, starts, deterministic=True)
        actions.append(int(action[0]))
        obs, _, starts, _ = venv.step(action)
    return actions, seen


def _newest(obs: np.ndarray) -> np.ndarray:
    return obs[..., -1:]


@pytest.mark.parametrize("name", list(MODELS))
def test_core_acts_as_the_model_over_whole_episodes(
    name: str, trained: Trained, tmp_path: Path
) -> None:
    actions, seen = their_actions(name, trained, 45)
    assert sum(start for _, start in seen) > 1  # several episodes
    live = load_core(trained(name)[0], env_of(name))
    for core in (live, core_of(name, trained, tmp_path)):
        state, difference = core.memory.initial(1), 0.0
        for (obs, start), theirs in zip(seen, actions, strict=True):
            remembering = core.consult(obs[None], state).acting.scores
            difference = max(difference, abs(remembering - core.acting(obs[None]).scores).max())
            ours, state = core.predict(obs, state, np.array([start]), deterministic=True)
            assert ours == theirs
        assert difference > 0.01  # the memory matters


@pytest.mark.parametrize("name", ["recurrent", "two layers", "stacked"])
def test_smoothed_policy_is_exported_with_its_memory(
    name: str, trained: Trained, tmp_path: Path
) -> None:
    core = core_of(name, trained, tmp_path)
    result = pi.smooth(
        core, ENV, budget=0.05, steps=150, episodes=3, train=True, out=tmp_path / "smooth",
        calibration_episodes=2, envs=2, hidden=[16],
    )  # fmt: skip
    controller = result.candidates["controller"].policy
    assert controller.spaces.features == core.layers[-1].w.shape[0]  # type: ignore[index]
    controller.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    policies: dict[str, Any] = {
        "core": core.with_hysteresis(0.01).with_limit(0.5, 2),
        "controller": loaded.at(0.0),
    }
    for label, policy in policies.items():
        pi.export(policy, tmp_path / f"{label}.onnx")
        pi.export_numpy(policy, tmp_path / f"{label}.npz")
        _same_actions(policy, tmp_path / label)


def _same_actions(policy: Any, path: Path) -> None:
    """Run a policy, its ONNX file and its NumPy file side by side, through whole episodes."""
    session = onnxruntime.InferenceSession(path.with_suffix(".onnx"))
    outputs = [output.name for output in session.get_outputs()]
    feed: dict[str, Any] = {}
    for one in session.get_inputs():
        kind = np.int64 if "int64" in one.type else np.float32
        feed[one.name] = np.zeros((1, *one.shape[1:]), kind)
    runtime = NumpyPolicy(str(path.with_suffix(".npz")))
    env = gym.make(ENV)
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        state, done, steps = None, False, 0
        feed["previous_action"] = np.array([-1])
        runtime.reset()
        while not done and steps < 60:
            action, state = policy.predict(observation, state, deterministic=True)
            values = session.run(outputs, {**feed, "observation": observation[None]})
            results = dict(zip(outputs, values, strict=True))
            assert results["action"][0] == action == runtime.act(observation)
            feed |= {n.removeprefix("next_"): v for n, v in results.items() if "next_" in n}
            feed["previous_action"] = results["action"]
            observation, _, terminated, truncated, _ = env.step(int(action))
            done, steps = terminated or truncated, steps + 1


def test_resumed_training_around_a_memory_comes_back_to_its_state(
    trained: Trained, tmp_path: Path
) -> None:
    from policy_inertia.envs.vector import Envs
    from policy_inertia.policies.spaces_with_core import SpacesWithCore

    core = core_of("recurrent", trained, tmp_path)
    envs = [
        Envs(ENV, 2, lambda i, k: 100 * i + k, spaces=SpacesWithCore.of_core(core))
        for _ in range(2)
    ]
    rng = np.random.default_rng(0)
    for _ in range(60):
        envs[0].step(rng.integers(0, 2, 2))
    assert envs[1].restore(envs[0].state())
    for name, values in envs[0].memory.items():
        assert abs(values).max() > 0
        np.testing.assert_array_equal(envs[1].memory[name], values)


@pytest.mark.parametrize("name", ["recurrent", "stacked"])
def test_poisoned_files_run_nothing(name: str, trained: Trained, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    model, _ = trained(name)
    model.save(tmp_path / "model.zip")
    folder = tmp_path / "zoo"
    folder.mkdir()
    data, weights = poisoned_zips(tmp_path / "model.zip", folder, trace)
    path = f"!!python/object/apply:pathlib.Path [{trace}]"
    code = f"!!python/object/apply:pathlib.Path.touch [{path}]"
    frames = "- - - frame_stack\n    - 3\n" if name == "stacked" else ""
    (folder / "config.yml").write_text(f"{code}\n{frames}")
    weights.rename(tmp_path / "weights.zip")
    core = load_core(folder, ENV, normalise=False)
    assert core.remembered
    with pytest.raises(InputError, match="cannot be read as the weights"):
        load_core(tmp_path / "weights.zip", ENV, normalise=False, frame_stack=3)
    assert data.exists()
    assert not trace.exists()


def test_rl_zoo_folder_names_its_frames(trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "CartPole-v1_1"
    (folder / ENV).mkdir(parents=True)
    model, _ = trained("stacked")
    model.save(folder / f"{ENV}.zip")
    model.get_vec_normalize_env().save(folder / ENV / "vecnormalize.pkl")
    (folder / ENV / "config.yml").write_text(
        "!!python/object/apply:collections.OrderedDict\n"
        "- - - batch_size\n    - 256\n  - - frame_stack\n    - 3\n  - - n_envs\n    - 8\n"
    )
    core = load_core(folder, ENV)
    assert core.remembered == {"core_frames": (8,)}
    (folder / ENV / "config.yml").unlink()
    with pytest.raises(InputError, match="of a VecFrameStack, give frame_stack"):
        load_core(folder, ENV)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("weight_ih_l0", np.zeros(48)),
        ("weight_hh_l0", np.zeros(())),
        ("weight_hh_l0", np.zeros((48, 11))),
        ("bias_hh_l0", np.zeros(12)),
        ("bias_hh_l0", np.zeros(48, int)),
        ("bias_hh_l1", np.zeros(48)),
        ("weight_ih_l0", np.zeros((48, 5))),
    ],
)
def test_damaged_lstm_is_refused(
    name: str, values: np.ndarray, trained: Trained, tmp_path: Path
) -> None:
    import torch

    trained("recurrent")[0].save(tmp_path / "model.zip")
    weights = weights_of(tmp_path / "model.zip")
    weights[f"lstm_actor.{name}"] = torch.as_tensor(values)
    bad = with_weights(tmp_path / "model.zip", tmp_path / "bad.zip", weights)
    with pytest.raises(InputError, match=r"has an LSTM with|does not take observations"):
        load_core(bad, ENV, normalise=False)


def test_what_cannot_remember_is_refused_with_the_way_out(trained: Trained, tmp_path: Path) -> None:
    model, _ = trained("recurrent")
    model.save(tmp_path / "model.zip")
    data = data_of(tmp_path / "model.zip")
    data["policy_kwargs"]["lstm_kwargs"] = "{'dropout': 0.5}"
    odd = with_data(tmp_path / "model.zip", tmp_path / "odd.zip", data)
    with pytest.raises(InputError, match=r"has the argument lstm_kwargs: give trust=True"):
        load_core(odd, ENV, normalise=False)
    core = load_core(tmp_path / "model.zip", ENV, normalise=False)
    with pytest.raises(InputError, match="also remembers core_hidden, core_cell"):
        pi.SmoothActions(gym.make(ENV), core, hysteresis=0.1)
    with pytest.raises(InputError, match=r"frame_stack is 0: give|frame_stack is 101: give"):
        load_core(tmp_path / "model.zip", ENV, normalise=False, frame_stack=101)
    with pytest.raises(InputError, match=r"export it as ONNX|cannot be written"):
        pi.export_c(core, tmp_path / "policy.c")
