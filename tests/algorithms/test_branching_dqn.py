"""Branching DQN: its equations, what it learns, and its files."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, train
from policy_inertia.actions.multi_discrete import MultiDiscrete
from policy_inertia.algorithms import branching_losses
from policy_inertia.algorithms.branching_dqn import BranchingDQNConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.run_settings import settings
from policy_inertia.types import Transition
from tests.algorithms.test_nested import DUE, in_float64
from tests.support.exported_episodes import switches_in_files
from tests.support.heads_env import FromZero, Lamps, Mixer
from tests.support.resumed import resumed_alike

HEADS = MultiDiscrete((3, 2, 4), (0, 0, 0))
SPEC = Spec(3, HEADS)
QUICK: dict[str, Any] = {
    "hidden": (32,),
    "learning_rate": 3e-3,
    "target_period": 100,
    "train_interval": 1,
    "epsilon_decay": 3e-4,
    "epsilon_final": 0.05,
    "learning_starts": 200,
    "gamma": 0.0,  # the next lights do not depend on what is done
    "envs": 16,
}


def minibatch(n: int) -> Transition:
    rng = np.random.default_rng(3)
    return Transition(
        obs=rng.normal(size=(n, 3)).astype(np.float32),
        prev_action=HEADS.sample(rng, n).astype(np.int32),
        action=HEADS.sample(rng, n).astype(np.int32),
        reward=rng.normal(size=n).astype(np.float32),
        discount=np.where(rng.random(n) < 0.2, 0, 0.9).astype(np.float32),
        next_obs=rng.normal(size=(n, 3)).astype(np.float32),
    )


def by_hand(layers: Any, obs: np.ndarray) -> list[np.ndarray]:
    """The Q-values of each head for one observation: V + A - mean A."""
    x = obs.astype(float)
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
    outputs = (x @ layers[-1][0] + layers[-1][1]).ravel()
    parts = np.split(outputs[1:], [3, 5])
    return [outputs[0] + part - part.mean() for part in parts]


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.usefixtures("quick_compiler")
def test_loss_agrees_with_the_equations_worked_out_by_hand(double: bool) -> None:
    config = BranchingDQNConfig(hidden=(6,), double=double, target_period=2, learning_rate=0.01)
    algorithm = config.build(SPEC)
    state: Any = algorithm.init(np.random.default_rng(0))
    update = jax.jit(algorithm.update)
    for _ in range(4):
        batch: Any = minibatch(16)
        online, target = in_float64(state.critic), in_float64(state.target)
        total = 0.0
        for i in range(16):
            choosers = by_hand(online if double else target, batch.next_obs[i])
            following = by_hand(target, batch.next_obs[i])
            v = np.mean([q[c.argmax()] for q, c in zip(following, choosers, strict=True)])
            y = batch.reward[i] + batch.discount[i] * v
            now = by_hand(online, batch.obs[i])
            errors = [q[a] - y for q, a in zip(now, batch.action[i], strict=True)]
            total += float(np.mean(np.square(errors))) / 2
        state, report, _ = update(state, batch, DUE[:1])
        assert float(report["loss"]) == pytest.approx(total / 16, rel=1e-4)


def test_acting_network_holds_the_dueling_in_its_last_layer() -> None:
    algorithm = BranchingDQNConfig(hidden=(6,)).build(SPEC)
    state: Any = algorithm.init(np.random.default_rng(0))
    obs: Any = minibatch(8).obs
    acting = algorithm.apply(jax.tree.map(np.asarray, algorithm.acting(state)), obs, obs, np)
    for i in range(8):
        expected = by_hand(in_float64(state.critic), obs[i])
        np.testing.assert_allclose(acting.scores[i], np.concatenate(expected), atol=1e-5)
        assert acting.policy.mode()[i].tolist() == [q.argmax() for q in expected]
    matrix = branching_losses.dueling_matrix(HEADS.parts)
    assert np.linalg.matrix_rank(matrix) == 1 + 2 + 1 + 3  # a value, and n - 1 for each head


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    out = tmp_path_factory.mktemp("runs") / "lamps"
    return train("branching-dqn", Lamps, out, steps=16_000, eval_every=16_000, **QUICK)


def test_thousands_of_combinations_are_learned(learned: Policy) -> None:
    """Random actions earn 10 of 20; 4,096 combinations are too many for a list of them."""
    assert evaluate(learned, Lamps, 20, 5).summary()["return"] > 17


def test_filters_and_files_act_like_the_policy_over_whole_episodes(
    learned: Policy, tmp_path: Path
) -> None:
    policy = learned.with_hysteresis(0.02).with_limit(0.5, 2, per_head=True)
    policy.save(tmp_path / "p.safetensors")
    again = Policy.load(tmp_path / "p.safetensors")
    assert switches_in_files(again, Lamps(), tmp_path) > 10


def test_run_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    config = settings("branching-dqn", "x", **{**QUICK, "learning_starts": 32, "scaled": True})
    resumed_alike(config, Mixer, tmp_path)


def test_other_kinds_of_actions_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="MultiDiscrete or MultiBinary ones: train dqn or sac"):
        train("branching-dqn", "CartPole-v1", tmp_path / "a", steps=10)
    with pytest.raises(InputError, match="learns Discrete ones: train branching-dqn"):
        train("dqn", FromZero, tmp_path / "b", steps=10)
