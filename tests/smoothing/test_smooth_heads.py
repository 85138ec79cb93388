"""A gate for each head around a policy of Stable-Baselines3, and around branching DQN."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from policy_inertia import InputError, Limit, Policy, evaluate, load_core, smooth
from policy_inertia.actions.masks import FORBIDDEN
from policy_inertia.algorithms.branching_dqn import BranchingDQNConfig
from policy_inertia.algorithms.controllers.head_gate import HeadGateConfig
from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.run_settings import settings
from tests.algorithms.test_branching_dqn import HEADS
from tests.algorithms.test_nested import DUE, in_float64
from tests.support.exported_episodes import switches_in_files
from tests.support.head_updates import MASKED, forward, masked_minibatch, prepared
from tests.support.heads_env import Lamps, MaskedMixer, Mixer, Switches
from tests.support.resumed import resumed_alike


@pytest.fixture(scope="module")
def jittery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PPO after a few thousand steps on twelve switches: 4,096 combinations."""
    model = PPO("MlpPolicy", Lamps(), n_steps=256, n_epochs=4, learning_rate=3e-3, seed=0)
    model.learn(4_000)
    path = tmp_path_factory.mktemp("zips") / "lamps.zip"
    model.save(path)
    return path


@pytest.mark.usefixtures("quick_compiler")
def test_gate_for_each_head_is_trained_and_its_file_acts_alike(
    jittery: Path, tmp_path: Path
) -> None:
    result = smooth(
        jittery,
        Lamps,
        0.6,
        1_500,
        train=True,
        episodes=10,
        calibration_episodes=4,
        hidden=(32,),
        head_prices=(2.0,) + (1.0,) * 11,
        out=tmp_path / "run",
    )
    assert list(result.candidates) == ["core", "hysteresis", "controller"]
    policy = result.candidates["controller"].policy
    assert policy.method == "smooth-heads"
    assert policy.setting_name == "price"
    own = evaluate(policy.at(-policy.largest_price), Lamps, 5, 3, True).episodes
    bare = evaluate(load_core(jittery, Lamps), Lamps, 5, 3, True).episodes
    for ours, theirs in zip(own, bare, strict=True):  # at this price it is its core
        np.testing.assert_array_equal(ours.actions, theirs.actions)
    calm = policy.at(policy.largest_price)
    figures = [evaluate(p, Lamps, 10, 3, True).summary() for p in (policy.at(0.0), calm)]
    assert figures[1]["head_oscillation"] < figures[0]["head_oscillation"]
    policy.at(policy.largest_price / 100).save(tmp_path / "p.safetensors")
    again = Policy.load(tmp_path / "p.safetensors")
    assert switches_in_files(again, Lamps(), tmp_path) > 0
    price = policy.largest_price / 30
    assert switches_in_files(again.at(price), Lamps(), tmp_path, price) > 0


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.usefixtures("quick_compiler")
def test_updates_agree_with_the_equations_worked_out_by_hand(masked: bool) -> None:
    each = np.array([2.0, 1.0, 0.5])
    core: Any = FrozenConfig() if masked else BranchingDQNConfig(hidden=(6,), train_interval=1)
    config = HeadGateConfig(
        core, hidden=(6,), price=0.3, refund=0.1, huber=None, head_prices=tuple(each)
    )
    state, update, inner, improve, batch, due = prepared(config, masked)
    hot, forced = [np.eye(n) for n in HEADS.sizes], 0
    for _ in range(3):
        critics = state.controller.critics
        twins, targets = (
            [in_float64(part, i) for i in (0, 1)] for part in (critics.online, critics.target)
        )
        size = float(state.controller.scale.values) or np.sqrt(np.mean(batch.reward**2))
        improved, _, _ = improve(state.core, batch, due[:-1])
        acting: Any = inner.apply(inner.acting(improved), batch.next_obs, batch.action)
        follow, total = np.asarray(acting.policy.mode()), 0.0
        forbidden = np.asarray(acting.policy.log_pi) < -1e20
        for i in range(16):
            now, last = (
                np.concatenate([h[a] for h, a in zip(hot, row[i], strict=True)])
                for row in (batch.prev_action, batch.action)
            )
            lower = np.minimum(*(forward(t, [*batch.next_obs[i][:3], *last]) for t in targets))
            values, switched = [], []
            for d, (part, c) in enumerate(zip(HEADS.parts, each, strict=True)):
                u, a, f = lower[part], batch.action[i][d], follow[i][d]
                repeats = u[a] + 0.3 / size * c >= u[f] + 0.3 / size * c * (f == a)
                forced += repeats and forbidden[i][part][a]
                then = a if repeats and not forbidden[i][part][a] else f
                values.append(u[then])
                switched.append(then != a)
            charge = 0.3 / size * sum((s - 0.1) * c for s, c in zip(switched, each, strict=True))
            y = batch.reward[i] / size + batch.discount[i] * (np.mean(values) - charge)
            for t in twins:
                q = forward(t, [*batch.obs[i][:3], *now])
                taken = [q[part][a] for part, a in zip(HEADS.parts, batch.action[i], strict=True)]
                total += float(np.mean((np.array(taken) - y) ** 2)) / 2
        state, report, _ = update(state, batch, due)
        assert float(report["mixed_critic_loss"]) == pytest.approx(total / 16, rel=5e-4)
    assert (forced > 0) == masked  # some heads would repeat what their mask forbids


@pytest.mark.usefixtures("quick_compiler")
def test_decisions_that_a_mask_takes_away_set_no_price() -> None:
    algorithm = HeadGateConfig(FrozenConfig(), hidden=(6,)).build(MASKED)
    update, log_pi = jax.jit(algorithm.update), slice(3, 3 + HEADS.width)
    for allowed in (False, True):
        batch = masked_minibatch(16)
        forbidden = 0 if allowed else HEADS.encode(batch.action)
        batch.next_obs[:, log_pi] = np.where(forbidden, FORBIDDEN, -np.arange(HEADS.width))
        state, _, _ = update(algorithm.init(np.random.default_rng(1)), batch, DUE[1:])
        assert (float(state.controller.scale.decision) > 0) == allowed


@pytest.mark.usefixtures("quick_compiler")
def test_masked_action_of_a_head_is_never_repeated_in_training_play_and_files(
    tmp_path: Path,
) -> None:
    model = MaskablePPO("MlpPolicy", MaskedMixer(), n_steps=128, n_epochs=4, seed=0).learn(400)
    model.save(tmp_path / "masked.zip")
    result = smooth(
        tmp_path / "masked.zip",
        MaskedMixer,
        steps=400,
        train=True,
        episodes=4,
        calibration_episodes=2,
        hidden=(16,),
        out=tmp_path / "run",
    )
    policy = result.candidates["controller"].policy
    calm = policy.at(policy.largest_price)
    calm.save(tmp_path / "p.safetensors")
    again = Policy.load(tmp_path / "p.safetensors")
    assert again.masked
    for smoothed in (calm, again):  # `MaskedMixer` raises at a masked action
        figures = evaluate(smoothed, MaskedMixer, 5, 3, True).summary()
        assert figures["head_oscillation"] > 0
    obs = np.zeros((1, 3), np.float32)
    first, state = calm.predict(obs, deterministic=True)
    masks = ~HEADS.encode(first).astype(bool)
    second, _ = calm.predict(obs, state, deterministic=True, action_masks=masks)
    assert (second != first).all()
    assert switches_in_files(again, MaskedMixer(), tmp_path) > 0


def test_branching_dqn_and_its_gates_are_resumed_bit_for_bit(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"hidden": (8,), "core": {"hidden": (8,)}, "learning_starts": 32}
    config = settings("gate-branching-dqn", "x", envs=8, **changes)
    policy = resumed_alike(config, Mixer, tmp_path).policy()
    obs = np.zeros((2, 3), np.float32)
    assert policy.predict(obs)[0].shape == policy.inertia(obs, [[0, 1, 2]] * 2).shape == (2, 3)


def test_what_no_controller_of_heads_can_do_is_refused_in_one_sentence() -> None:
    core = load_core(lambda obs: np.zeros((len(obs), 6)), Switches, output="logits")
    with pytest.raises(InputError, match="plans with a limit for each: give it per_head"):
        smooth(core, Switches, limit=Limit(0.1, 2), train=True)
    with pytest.raises(InputError, match="give a number from 0 on for each of the 3 heads"):
        HeadGateConfig(BranchingDQNConfig(), head_prices=(1.0,)).build(Spec(3, HEADS))
    with pytest.raises(InputError, match="give head_prices, a number for each head"):
        HeadGateConfig(BranchingDQNConfig(), costs=(0.0,)).build(Spec(3, HEADS))
