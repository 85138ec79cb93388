"""Models of Stable-Baselines3 beside the cores that we read from them."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from policy_inertia import evaluate, export, load_core
from policy_inertia.interop.onnx_discrete import nearly_tied
from policy_inertia.interop.onnx_in import session
from policy_inertia.policies.probing import example_observations
from tests.support.cores import scores_of
from tests.support.sb3_models import TWO_WAY, EnvClass, MakeModel, Pictures, SB3Model, sb3_values

MODELS: list[tuple[str, EnvClass]] = [
    *((algorithm, env) for env in ("CartPole-v1", TWO_WAY) for algorithm in ("DQN", "PPO", "A2C")),
    ("QRDQN", "CartPole-v1"),
    ("QRDQN", TWO_WAY),
    ("DQN", Pictures),
    ("PPO", Pictures),
]
IDS = [f"{a}-{e if isinstance(e, str) else e.__name__}" for a, e in MODELS]


def observations(name: EnvClass, n: int) -> np.ndarray:
    """Observations of the env under random actions, and as many shifted ones."""
    if not isinstance(name, str):
        return example_observations(Pictures.observation_space, n)
    env = gym.make(name)
    rows = [env.reset(seed=0)[0]]
    env.action_space.seed(0)
    while len(rows) < n // 2:
        obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
        rows.append(env.reset()[0] if terminated or truncated else obs)
    seen = np.array(rows, np.float32)
    return np.concatenate([seen, seen + 3 * example_observations(env.observation_space, len(seen))])


@pytest.mark.parametrize(("algorithm", "env"), MODELS, ids=IDS)
def test_zip_acts_as_the_model(sb3_model: SB3Model, algorithm: str, env: EnvClass) -> None:
    model, path = sb3_model(algorithm, env)
    core = load_core(path, env)
    n = 64 if env is Pictures else 10_000
    obs = observations(env, n)
    theirs = sb3_values(model, obs)
    np.testing.assert_allclose(scores_of(core, obs), theirs, rtol=1e-5, atol=1e-5)
    if core.kind == "logits":
        np.testing.assert_allclose(core.probabilities(obs), np.exp(theirs), atol=1e-5)
    assert core.probabilities(obs).dtype == np.float32
    ours, _ = core.predict(obs, deterministic=True)
    actions, _ = model.predict(obs, deterministic=True)
    differ = ours != actions
    assert not (differ & ~nearly_tied(theirs)).any()
    assert differ.sum() <= n / 1000
    assert len(set(actions)) > 1 or env is Pictures  # the model does not always act the same
    live = load_core(model, None if env is Pictures else env)
    assert live.layers is not None
    if env is not Pictures:
        np.testing.assert_array_equal(scores_of(live, obs), scores_of(core, obs))


@pytest.mark.parametrize(("algorithm", "env"), MODELS, ids=IDS)
@pytest.mark.parametrize("tau", [None, 0.02])
def test_zip_to_onnx_acts_as_the_model(
    sb3_model: SB3Model, algorithm: str, env: EnvClass, tau: float | None, tmp_path: Path
) -> None:
    model, path = sb3_model(algorithm, env)
    core = load_core(path, env)
    core = core if tau is None else core.with_hysteresis(tau)
    written = export(core, tmp_path / "core.onnx")
    assert written.difference < 1e-5
    n = 64 if env is Pictures else 10_000
    obs = observations(env, n)
    previous = np.random.default_rng(0).integers(-1, core.spaces.discrete.n, len(obs))
    actions, pi, mu = session(written.path).run(
        ["action", "probabilities", "inertia"],
        {"observation": obs.astype(np.float32), "previous_action": previous},
    )
    theirs = sb3_values(model, obs)
    expected = theirs.argmax(1)
    near = nearly_tied(theirs)
    if tau is not None:  # hysteresis by hand, on Stable-Baselines3's own numbers
        rows = np.arange(len(obs))
        gain = theirs[rows, expected] - theirs[rows, previous]
        near |= abs(gain - tau) < 1e-5
        expected = np.where((previous >= 0) & (gain < tau), previous, expected)
    differ = actions != expected
    assert not (differ & ~near).any()
    assert differ.sum() <= n / 1000
    np.testing.assert_allclose(pi.sum(1), 1, atol=1e-5)
    assert not mu.any()


def test_boltzmann_core_is_a_softmax_of_q(sb3_model: SB3Model) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    obs = example_observations(gym.make("CartPole-v1").observation_space, 5)
    core = load_core(path, "CartPole-v1", temperature=0.1)
    q = core.acting(obs).scores.astype(float)
    expected = np.exp(q / 0.1) / np.exp(q / 0.1).sum(1, keepdims=True)
    np.testing.assert_allclose(core.probabilities(obs), expected, atol=1e-5)
    greedy = load_core(path, "CartPole-v1").probabilities(obs)
    np.testing.assert_array_equal(greedy, np.eye(2)[q.argmax(1)])


def test_our_evaluation_runs_a_core_with_hysteresis(sb3_model: SB3Model) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    core = load_core(path, "CartPole-v1")
    spread = np.ptp(core.acting(example_observations(core.space, 1000)).scores)
    plain = evaluate(core, "CartPole-v1", 5, deterministic=True).summary()
    frozen = evaluate(core.with_hysteresis(10 * spread), "CartPole-v1", 5, deterministic=True)
    assert plain["oscillation_ratio"] > 0
    assert frozen.summary()["oscillation_ratio"] == 0


def test_module_that_was_replaced_by_hand_is_noticed(make_model: MakeModel) -> None:
    model = make_model("DQN", "CartPole-v1")
    model.policy.q_net.q_net[1] = torch.nn.Tanh()  # the policy still says ReLU
    core = load_core(model)
    assert core.layers is None
    obs = example_observations(core.space, 100)
    np.testing.assert_allclose(scores_of(core, obs), sb3_values(model, obs), atol=1e-6)


def test_sbx_models_are_called_through_jax() -> None:
    sbx = pytest.importorskip("sbx", reason="SBX is no dependency of ours")
    for cls, kind in ((sbx.DQN, "q"), (sbx.PPO, "logits")):
        model = cls("MlpPolicy", "CartPole-v1", seed=0).learn(300)
        core = load_core(model, "CartPole-v1")
        obs = 2 * example_observations(core.space, 500)
        ours, _ = core.predict(obs, deterministic=True)
        theirs, _ = model.predict(obs, deterministic=True)
        assert core.kind == kind
        assert (ours != theirs).sum() <= 1  # at a tie
        assert len(set(theirs.tolist())) == 2
