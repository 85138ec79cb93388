"""Stable-Baselines3's own models beside what we read out of their zips."""

import base64
import io
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from policy_inertia import InputError, evaluate, load_core
from policy_inertia.interop.onnx_in import session
from policy_inertia.interop.onnx_out import export, nearly_tied
from policy_inertia.interop.sb3_network import is_image
from policy_inertia.policies.probing import example_observations
from tests.support.sb3_models import TWO_WAY, Pictures

MODELS = [
    (algorithm, env) for env in ("CartPole-v1", TWO_WAY) for algorithm in ("DQN", "PPO", "A2C")
] + [
    ("QRDQN", "CartPole-v1"),
    ("QRDQN", TWO_WAY),
    ("DQN", Pictures),
    ("PPO", Pictures),
]
ids = [f"{a}-{e if isinstance(e, str) else e.__name__}" for a, e in MODELS]


def observations(model, env, n: int) -> np.ndarray:
    """What the env itself shows under random actions, and as many shifted ones."""
    if env is Pictures:
        return example_observations(Pictures.observation_space, n)
    made = gym.make(env)
    seen = [made.reset(seed=0)[0]]
    made.action_space.seed(0)
    while len(seen) < n // 2:
        obs, _, terminated, truncated, _ = made.step(made.action_space.sample())
        seen.append(made.reset()[0] if terminated or truncated else obs)
    seen = np.array(seen, np.float32)
    return np.concatenate(
        [seen, seen + 3 * example_observations(made.observation_space, len(seen))]
    )


def sb3_values(model, obs: np.ndarray) -> np.ndarray:
    """Q-values, or log-probabilities, as Stable-Baselines3 computes them."""
    policy = model.policy
    policy.set_training_mode(False)
    with torch.no_grad():
        tensor = policy.obs_to_tensor(obs)[0]
        if hasattr(policy, "q_net"):
            return policy.q_net(tensor).numpy()
        if hasattr(policy, "quantile_net"):
            return policy.quantile_net(tensor).mean(1).numpy()
        return policy.get_distribution(tensor).distribution.logits.numpy()


@pytest.mark.parametrize(("algorithm", "env"), MODELS, ids=ids)
def test_zip_gives_what_the_model_gives(sb3_model, algorithm, env):
    model, path = sb3_model(algorithm, env)
    core = load_core(path, env)
    n = 64 if env is Pictures else 10_000
    obs = observations(model, env, n)
    theirs = sb3_values(model, obs)
    np.testing.assert_allclose(core.scores(obs), theirs, rtol=1e-5, atol=1e-5)
    if core.kind == "logits":
        np.testing.assert_allclose(core.probabilities(obs), np.exp(theirs), atol=1e-5)
    assert core.probabilities(obs).dtype == np.float32
    ours, _ = core.predict(obs, deterministic=True)
    actions, _ = model.predict(obs, deterministic=True)
    differ = ours != actions
    assert not (differ & ~nearly_tied(theirs)).any()
    assert differ.sum() <= n / 1000
    assert len(set(actions)) > 1 or env is Pictures  # the comparison is of more than a constant
    live = load_core(model, None if env is Pictures else env)
    assert live.layers is not None
    if env is not Pictures:
        np.testing.assert_array_equal(live.scores(obs), core.scores(obs))


@pytest.mark.parametrize(("algorithm", "env"), MODELS, ids=ids)
@pytest.mark.parametrize("tau", [None, 0.02])
def test_zip_to_onnx_to_onnxruntime(sb3_model, algorithm, env, tau, tmp_path):
    model, path = sb3_model(algorithm, env)
    core = load_core(path, env)
    core = core if tau is None else core.with_hysteresis(tau)
    written = export(core, tmp_path / "core.onnx")
    assert written.difference < 1e-5
    n = 64 if env is Pictures else 10_000
    obs = observations(model, env, n)
    prev = np.random.default_rng(0).integers(-1, core.spaces.discrete.n, len(obs))
    actions, pi, mu = session(written.path).run(
        ["action", "probabilities", "inertia"],
        {"observation": obs.astype(np.float32), "previous_action": prev},
    )
    theirs = sb3_values(model, obs)
    expected = theirs.argmax(1)
    near = nearly_tied(theirs)
    if tau is not None:  # hysteresis by hand, on Stable-Baselines3's own numbers
        rows = np.arange(len(obs))
        gain = theirs[rows, expected] - theirs[rows, prev]
        near |= abs(gain - tau) < 1e-5
        expected = np.where((prev >= 0) & (gain < tau), prev, expected)
    differ = actions != expected
    assert not (differ & ~near).any()
    assert differ.sum() <= n / 1000
    np.testing.assert_allclose(pi.sum(1), 1, atol=1e-5)
    assert not mu.any()


def test_pictures_are_read_as_stable_baselines_reads_them(sb3_model):
    from stable_baselines3.common.preprocessing import is_image_space

    model, path = sb3_model("DQN", Pictures)
    core = load_core(path, Pictures)
    # the model sees the channels first, the env shows them last
    assert model.observation_space.shape == (1, 84, 84)
    assert core.spaces.obs_shape == (84, 84, 1)
    first = load_core(model)
    obs = example_observations(Pictures.observation_space, 8)
    np.testing.assert_allclose(
        first.scores(np.moveaxis(obs, -1, 1)), core.scores(obs), rtol=1e-5, atol=1e-5
    )
    for space in (
        Pictures.observation_space,
        gym.spaces.Box(0, 255, (84, 84, 1), np.float32),
        gym.spaces.Box(0, 254, (84, 84, 1), np.uint8),
        gym.spaces.Box(0, 255, (84, 84), np.uint8),
        gym.spaces.Discrete(3),
    ):
        assert is_image(space) == is_image_space(space)


def test_boltzmann_core_is_a_softmax_of_q(sb3_model):
    _, path = sb3_model("DQN", "CartPole-v1")
    obs = example_observations(gym.make("CartPole-v1").observation_space, 5)
    core = load_core(path, "CartPole-v1", temperature=0.1)
    q = core.scores(obs).astype(float)
    expected = np.exp(q / 0.1) / np.exp(q / 0.1).sum(1, keepdims=True)
    np.testing.assert_allclose(core.probabilities(obs), expected, atol=1e-5)
    greedy = load_core(path, "CartPole-v1").probabilities(obs)
    np.testing.assert_array_equal(greedy, np.eye(2)[q.argmax(1)])


def test_our_evaluation_runs_a_core_with_hysteresis(sb3_model):
    _, path = sb3_model("DQN", "CartPole-v1")
    core = load_core(path, "CartPole-v1")
    plain = evaluate(core, "CartPole-v1", 5, deterministic=True).summary()
    spread = np.ptp(core.scores(example_observations(core.space, 1000)))
    frozen = evaluate(core.with_hysteresis(10 * spread), "CartPole-v1", 5, deterministic=True)
    assert plain["oscillation_ratio"] >= 0
    assert frozen.summary()["oscillation_ratio"] == 0


# --- what a zip must not do ---------------------------------------------------------------------


class Poison:
    """A pickle that would write a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return (_write, (str(self.target),))


def _write(target: str) -> None:
    Path(target).write_text("poisoned")


def rewrite(path: Path, to: Path, **changes: bytes) -> Path:
    """A copy of a zip with some members exchanged (a dot in a name is given as two underscores)."""
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in {*old.namelist(), *changes}:
            new.writestr(name, changes[name] if name in changes else old.read(name))
    return to


def data_of(path: Path) -> dict:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("data"))


def test_poisoned_data_of_a_zip_is_never_unpickled(sb3_model, tmp_path):
    from stable_baselines3.common.save_util import load_from_zip_file

    model, path = sb3_model("DQN", "CartPole-v1")
    target = tmp_path / "written"
    data = data_of(path)
    poison = base64.b64encode(pickle.dumps(Poison(target))).decode()
    pickled = [key for key, value in data.items() if ":serialized:" in str(value)]
    for key in pickled:
        data[key][":serialized:"] = poison
    bad = rewrite(path, tmp_path / "bad.zip", data=json.dumps(data).encode())
    core = load_core(bad, "CartPole-v1")
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(core.scores(obs), sb3_values(model, obs), atol=1e-5)
    assert len(pickled) > 3
    assert not target.exists()
    load_from_zip_file(bad)  # the poison is real: Stable-Baselines3's own loader runs it
    assert target.exists()


def test_poisoned_weights_are_refused(sb3_model, tmp_path):
    _, path = sb3_model("DQN", "CartPole-v1")
    target = tmp_path / "written"
    buffer = io.BytesIO()
    torch.save({"q_net.q_net.0.weight": Poison(target)}, buffer)
    for name, weights in (("torch", buffer.getvalue()), ("raw", pickle.dumps(Poison(target)))):
        bad = rewrite(path, tmp_path / f"{name}.zip", policy__pth=weights)
        with pytest.raises(InputError, match="more than weights"):
            load_core(bad, "CartPole-v1")
    others = rewrite(
        path,
        tmp_path / "others.zip",
        pytorch_variables__pth=buffer.getvalue(),
        policy__optimizer__pth=buffer.getvalue(),
    )
    load_core(others, "CartPole-v1")  # these are not even opened
    assert not target.exists()
    torch.load(io.BytesIO(buffer.getvalue()), weights_only=False)
    assert target.exists()


def test_poisoned_statistics_are_not_opened_without_trust(sb3_model, tmp_path):
    _, path = sb3_model("PPO", "CartPole-v1")
    target = tmp_path / "written"
    pickled = tmp_path / "vecnormalize.pkl"
    pickled.write_bytes(pickle.dumps(Poison(target)))
    with pytest.raises(InputError, match="pickle and could run code: give trust=True"):
        load_core(path, "CartPole-v1", normalise=pickled)
    zoo = tmp_path / "CartPole-v1_1"
    (zoo / "CartPole-v1").mkdir(parents=True)
    shutil.copy(path, zoo / "CartPole-v1.zip")
    shutil.copy(pickled, zoo / "CartPole-v1")
    with pytest.raises(InputError, match="could run code"):
        load_core(zoo, "CartPole-v1")
    assert not target.exists()


# --- what cannot be known from shapes -----------------------------------------------------------


def test_activation_is_read_from_the_readable_part(make_model, tmp_path):
    model = make_model(
        "PPO", "CartPole-v1", policy_kwargs={"activation_fn": torch.nn.ELU, "net_arch": [32]}
    )
    model.save(tmp_path / "elu.zip")
    core = load_core(tmp_path / "elu", "CartPole-v1")  # without .zip, as SB3's own load
    obs = example_observations(core.space, 500)
    np.testing.assert_allclose(core.scores(obs), sb3_values(model, obs), atol=1e-5)
    assert export(core, tmp_path / "elu.onnx").difference < 1e-5


@pytest.mark.parametrize("name", ["ReLU", "Tanh", "Sigmoid", "SiLU", "ELU", "LeakyReLU"])
def test_activations_are_those_of_torch(name, tmp_path):
    from policy_inertia.networks.layers import ACTIVATIONS

    x = np.linspace(-20, 20, 401, dtype=np.float32)
    theirs = getattr(torch.nn, name)()(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(ACTIVATIONS[name](x.copy()), theirs, atol=1e-6)


def test_what_shapes_do_not_say_needs_trust(make_model, tmp_path):
    model = make_model("DQN", "CartPole-v1", policy_kwargs={"activation_fn": torch.nn.Mish})
    path = tmp_path / "mish.zip"
    model.save(path)
    with pytest.raises(InputError, match=r"its activation is Mish: give trust=True"):
        load_core(path, "CartPole-v1")
    core = load_core(path, "CartPole-v1", trust=True)
    assert core.layers is None
    obs = example_observations(core.space, 500)
    np.testing.assert_allclose(core.scores(obs), sb3_values(model, obs), atol=1e-6)
    with pytest.raises(InputError, match="is not known, so it cannot be written as ONNX"):
        export(core, tmp_path / "mish.onnx")


def test_trusted_zip_with_a_known_network_is_layers_again(sb3_model, tmp_path):
    model, path = sb3_model("A2C", "CartPole-v1")
    data = data_of(path)
    data["policy_class"]["__module__"] = "somebody.policies"
    own = rewrite(path, tmp_path / "own.zip", data=json.dumps(data).encode())
    with pytest.raises(InputError, match=r"class of somebody\.policies: give trust=True"):
        load_core(own, "CartPole-v1")
    core = load_core(own, "CartPole-v1", trust=True)
    assert core.layers is not None
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(core.scores(obs), sb3_values(model, obs), atol=1e-5)


def test_module_exchanged_by_hand_is_noticed(make_model):
    model = make_model("DQN", "CartPole-v1")
    model.policy.q_net.q_net[1] = torch.nn.Tanh()  # the policy still says ReLU
    core = load_core(model)
    assert core.layers is None
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(core.scores(obs), sb3_values(model, obs), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"features_extractor_class": "<class 'own.Net'>"}, r"its network uses <class 'own\.Net'>"),
        ({"magic": 3}, "has the argument magic"),
        ({":serialized:": "abc"}, "arguments of its policy are pickled"),
        ({"activation_fn": "functools.partial(<class 'ELU'>, 2)"}, r"its network uses functools"),
    ],
)
def test_unknown_arguments_of_a_policy_need_trust(sb3_model, tmp_path, change, says):
    _, path = sb3_model("DQN", "CartPole-v1")
    data = data_of(path)
    data["policy_kwargs"] = change
    bad = rewrite(path, tmp_path / "bad.zip", data=json.dumps(data).encode())
    with pytest.raises(InputError, match=says):
        load_core(bad, "CartPole-v1")


# --- VecNormalize and RL Zoo --------------------------------------------------------------------


@pytest.fixture(scope="module")
def normalised():
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    env = VecNormalize(make_vec_env("CartPole-v1", 2, seed=0), clip_obs=1.5)
    return PPO("MlpPolicy", env, n_steps=64, device="cpu", seed=0).learn(256), env


def test_statistics_are_applied_as_stable_baselines_does(normalised, tmp_path):
    model, env = normalised
    model.save(tmp_path / "CartPole-v1.zip")
    env.save(tmp_path / "vecnormalize.pkl")
    rms = env.obs_rms
    np.savez(tmp_path / "statistics.npz", mean=rms.mean, var=rms.var, epsilon=env.epsilon, clip=1.5)
    obs = 2 * example_observations(gym.make("CartPole-v1").observation_space, 500)
    theirs = sb3_values(model, env.normalize_obs(obs))
    zipped = tmp_path / "CartPole-v1.zip"
    cores = [
        load_core(model, "CartPole-v1"),
        load_core(zipped, "CartPole-v1", normalise=env),
        load_core(zipped, "CartPole-v1", normalise=tmp_path / "statistics.npz"),
        load_core(zipped, "CartPole-v1", normalise=tmp_path / "vecnormalize.pkl", trust=True),
        load_core(tmp_path, "CartPole-v1", trust=True),  # as RL Zoo keeps them
    ]
    for core in cores:
        np.testing.assert_allclose(core.scores(obs), theirs, atol=1e-5)
        assert export(core, tmp_path / "n.onnx").difference < 1e-5
    raw = sb3_values(model, obs)
    assert abs(raw - theirs).max() > 1e-3
    bare = load_core(model, "CartPole-v1", normalise=False)
    np.testing.assert_allclose(bare.scores(obs), raw, atol=1e-5)
    inside = load_core(model, env)  # that env normalises by itself
    np.testing.assert_allclose(inside.scores(obs), raw, atol=1e-5)
    ours = load_core(zipped, "CartPole-v1", normalise=(rms.mean, rms.var))  # clips at 10
    assert abs(ours.scores(obs) - theirs).max() > 1e-3


def test_statistics_that_do_not_fit_are_refused(sb3_model, tmp_path):
    _, path = sb3_model("PPO", "CartPole-v1")
    with pytest.raises(InputError, match=r"mean of shape \(3,\) .* observations have shape \(4,\)"):
        load_core(path, "CartPole-v1", normalise=(np.zeros(3), np.ones(3)))
    with pytest.raises(InputError, match="normalise is int: give a VecNormalize"):
        load_core(path, "CartPole-v1", normalise=3)
    np.savez(tmp_path / "bare.npz", mean=np.zeros(4))
    for name in ("bare.npz", "missing.npz"):
        with pytest.raises(InputError, match="cannot be read as VecNormalize statistics"):
            load_core(path, "CartPole-v1", normalise=tmp_path / name)


def test_best_model_of_a_folder_comes_first(sb3_model, tmp_path):
    _, path = sb3_model("DQN", "CartPole-v1")
    folder = tmp_path / "CartPole-v1_3"
    folder.mkdir()
    shutil.copy(sb3_model("PPO", "CartPole-v1")[1], folder / "best_model.zip")
    shutil.copy(path, folder / "CartPole-v1.zip")
    assert load_core(folder, "CartPole-v1").kind == "logits"
    (folder / "best_model.zip").unlink()
    assert load_core(folder, "CartPole-v1").kind == "q"
    (folder / "CartPole-v1.zip").unlink()
    with pytest.raises(InputError, match="holds no policy"):
        load_core(folder, "CartPole-v1")


# --- bad input ----------------------------------------------------------------------------------


def test_recurrent_models_are_refused(tmp_path):
    from sb3_contrib import RecurrentPPO

    model = RecurrentPPO("MlpLstmPolicy", "CartPole-v1", n_steps=8, device="cpu")
    model.save(tmp_path / "r.zip")
    for core in (model, tmp_path / "r.zip"):
        with pytest.raises(InputError, match="is recurrent: it carries a state"):
            load_core(core, "CartPole-v1")


def test_masked_and_continuous_models_are_refused(tmp_path):
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO, SAC

    from tests.support import probes

    class Masked(probes.Repeat):
        def action_masks(self):
            return [True, True]

    MaskablePPO("MlpPolicy", Masked(), device="cpu").save(tmp_path / "m.zip")
    with pytest.raises(InputError, match="masked actions"):
        load_core(tmp_path / "m.zip", probes.Repeat)
    PPO("MlpPolicy", "Pendulum-v1", device="cpu").save(tmp_path / "p.zip")
    SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10).save(tmp_path / "s.zip")
    for name in ("p.zip", "s.zip"):
        with pytest.raises(InputError, match="continuous actions"):
            load_core(tmp_path / name, "CartPole-v1")
    with pytest.raises(InputError, match="needs Discrete actions"):
        load_core(tmp_path / "p.zip", "Pendulum-v1")


@pytest.mark.parametrize("algorithm", ["DQN", "PPO", "QRDQN"])
def test_other_spaces_are_refused(sb3_model, algorithm):
    _, path = sb3_model(algorithm, "CartPole-v1")
    with pytest.raises(InputError, match=r"action spaces differ|does not take observations"):
        load_core(path, "Acrobot-v1")
    with pytest.raises(InputError, match=r"does not take observations of shape \(2,\)"):
        load_core(path, lambda: Shape(2, 2))
    with pytest.raises(InputError, match=r"among 2 actions|do not divide"):
        load_core(path, lambda: Shape(4, 3))


class Shape(gym.Env):
    def __init__(self, size: int, actions: int) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (size,), np.float32)
        self.action_space = gym.spaces.Discrete(actions)


def test_files_that_are_no_zip_of_stable_baselines_are_refused(sb3_model, tmp_path):
    _, path = sb3_model("DQN", "CartPole-v1")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match="no zip file, or a broken one"):
        load_core(broken, "CartPole-v1")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match="not one of Stable-Baselines3"):
        load_core(tmp_path / "other.zip", "CartPole-v1")
    with pytest.raises(InputError, match="there is no file"):
        load_core(tmp_path / "missing.zip", "CartPole-v1")
    (tmp_path / "x.h5").touch()
    with pytest.raises(InputError, match=r"ends in '\.h5'"):
        load_core(tmp_path / "x.h5", "CartPole-v1")
    with pytest.raises(InputError, match=r"env of DQN-CartPole-v1\.zip is not known"):
        load_core(path)
    _, ppo = sb3_model("PPO", "CartPole-v1")
    state = torch.load(io.BytesIO(zipfile.ZipFile(ppo).read("policy.pth")), weights_only=True)
    del state["action_net.bias"]
    buffer = io.BytesIO()
    torch.save(state, buffer)
    less = rewrite(ppo, tmp_path / "less.zip", policy__pth=buffer.getvalue())
    with pytest.raises(InputError, match=r"no weights named action_net\.bias"):
        load_core(less, "CartPole-v1")
    empty = rewrite(path, tmp_path / "empty.zip", data=b"[]")
    with pytest.raises(InputError, match="no table"):
        load_core(empty, "CartPole-v1")
