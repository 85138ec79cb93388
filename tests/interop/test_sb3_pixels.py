"""Controllers around cores that see pixels: over the core's own features."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest

import policy_inertia as pi
from policy_inertia import Core, load_core
from policy_inertia.networks.layers import run
from policy_inertia.policies.policy import Policy
from tests.support.poison import poisoned_zips
from tests.support.sb3_models import Pictures

FEATURES = 32


class SmallPictures(Pictures):
    """The same in small."""

    observation_space = gym.spaces.Box(0, 255, (36, 36, 1), np.uint8)

    def _draw(self) -> np.ndarray:
        self.row = int(self.np_random.integers(4))
        picture = self.np_random.integers(0, 100, (36, 36, 1), dtype=np.uint8)
        picture[9 * self.row : 9 * (self.row + 1)] += 150
        return picture


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of a model that was trained for some steps."""
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("pixels") / "model.zip"
    settings: dict[str, Any] = {"n_steps": 32, "batch_size": 32, "n_epochs": 4, "seed": 0}
    kwargs = {"features_extractor_kwargs": {"features_dim": FEATURES}, "net_arch": []}
    model = PPO("CnnPolicy", SmallPictures(), device="cpu", policy_kwargs=kwargs, **settings)
    model.learn(64)
    policy: Any = model.policy
    seen = np.stack([SmallPictures().reset(seed=i)[0] for i in range(32)])
    with torch.no_grad():  # it was trained for seconds: let it react to what it sees
        policy.action_net.weight *= 100
        features = policy.extract_features(policy.obs_to_tensor(seen)[0])
        logits = policy.action_net(policy.mlp_extractor.forward_actor(features))
        policy.action_net.bias -= logits.mean(0)
    model.save(path)
    return path


@pytest.fixture(scope="module")
def core(zipped: Path) -> Core:
    return load_core(zipped, SmallPictures)


@pytest.fixture(scope="module")
def controller(core: Core, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A controller that `smooth` trained."""
    folder = tmp_path_factory.mktemp("smooth")
    result = pi.smooth(
        core, SmallPictures, budget=0.1, steps=200, episodes=3, train=True, out=folder / "run",
        calibration_episodes=2, envs=2, hidden=[16],
    )  # fmt: skip
    return result.candidates["controller"].policy


def test_controller_sees_the_vector_before_the_head(core: Core, controller: Policy) -> None:
    obs = np.stack([SmallPictures().reset(seed=i)[0] for i in range(5)])
    assert core.layers is not None
    features = run(core.layers[:-1], obs)
    assert features.shape == (5, FEATURES)
    encoded = controller.spaces.encode(obs)
    scaling = controller.spaces.network_scaling
    assert scaling is not None
    np.testing.assert_allclose(encoded[:, :FEATURES], scaling.apply(features.copy()), atol=1e-5)
    actions = 4
    assert encoded.shape[1] == FEATURES + 3 * actions  # and no pixels: no replay of frames
    assert controller.spaces.spec.image is None
    (layers, *_) = (controller.config.parts(controller.params.controller).networks,)  # type: ignore[attr-defined]
    assert isinstance(layers[0], list)  # a perceptron, without a torso of convolutions


def test_exported_controller_takes_the_same_actions_over_whole_episodes(
    core: Core, controller: Policy, tmp_path: Path
) -> None:
    controller.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    actions = set()
    for policy in (loaded, loaded.at(0.0), core.with_hysteresis(0.1).with_limit(0.5, 2)):
        pi.export(policy, tmp_path / "policy.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
        outputs = [output.name for output in session.get_outputs()]
        env = SmallPictures()
        for seed in range(2):
            observation, _ = env.reset(seed=seed)
            feed: dict[str, Any] = {"previous_action": np.array([-1])}
            if policy.limit is not None:
                feed["tokens"] = np.array([0])
            state, done = None, False
            while not done:
                action, state = policy.predict(observation, state, deterministic=True)
                feed["observation"] = observation[None].astype(np.float32)
                results = dict(zip(outputs, session.run(outputs, feed), strict=True))
                assert results["action"][0] == action
                actions.add(int(action))
                feed |= {n[5:]: v for n, v in results.items() if n.startswith("next_")}
                feed["previous_action"] = results["action"]
                observation, _, _, done, _ = env.step(int(action))
    assert len(actions) > 1


def test_poisoned_zip_runs_nothing(zipped: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    data, weights = poisoned_zips(zipped, tmp_path, trace)
    load_core(data, SmallPictures)
    with pytest.raises(pi.InputError, match="cannot be read as the weights"):
        load_core(weights, SmallPictures)
    assert not trace.exists()
