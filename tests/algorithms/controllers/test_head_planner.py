"""A gate for each head that plans with a limit for each head."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia import InputError, Limit, Policy, evaluate, load_core, smooth
from policy_inertia.actions.bucket import TOKEN
from policy_inertia.algorithms.branching_dqn import BranchingDQNConfig
from policy_inertia.algorithms.controllers import limit_draws
from policy_inertia.algorithms.controllers.head_planner import HeadLimitConfig
from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.run_settings import settings
from tests.algorithms.test_branching_dqn import HEADS
from tests.algorithms.test_nested import in_float64
from tests.support.exported_episodes import switches_in_files
from tests.support.head_updates import forward, prepared
from tests.support.heads_env import FromZero, MaskedMixer
from tests.support.resumed import resumed_alike

RATE, BURST = 250_000, 2 * TOKEN


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.usefixtures("quick_compiler")
def test_updates_agree_with_the_equations_worked_out_by_hand(masked: bool) -> None:
    core: Any = FrozenConfig() if masked else BranchingDQNConfig(hidden=(6,), train_interval=1)
    config = HeadLimitConfig(core, hidden=(6,), rate=0.25, largest_burst=2, huber=None)
    state, update, inner, improve, batch, due = prepared(config, masked)
    encoded = [np.asarray(HEADS.encode(a)) for a in (batch.prev_action, batch.action)]
    cost = (batch.prev_action != batch.action) * TOKEN
    stuck = forced = 0
    for _ in range(3):
        before = state.controller
        size = float(before.size) or np.sqrt(np.mean(batch.reward**2))
        u = limit_draws.scattered(before.updates, 16, 3)
        tokens = np.asarray(limit_draws.draw_level(u, cost, np.full((16, 1), BURST)))
        assert (tokens >= cost).all()
        left = np.minimum(tokens - cost + RATE, BURST)
        seen = [
            np.asarray(limit_draws.features(t, RATE, BURST, BURST, np)).reshape(16, -1)
            for t in (tokens, left)
        ]
        improved, _, _ = improve(state.core, batch, due[:-1])
        acting: Any = inner.apply(inner.acting(improved), batch.next_obs, batch.action)
        follow, forbidden = acting.policy.mode(), np.asarray(acting.policy.log_pi) < -1e20
        twins, targets = (
            [in_float64(part, i) for i in (0, 1)]
            for part in (before.critics.online, before.critics.target)
        )
        total = 0.0
        for i in range(16):
            following = [*batch.next_obs[i][:3], *encoded[1][i], *seen[1][i]]
            lower = np.minimum(*(forward(t, following) for t in targets))
            values = []
            for d, part in enumerate(HEADS.parts):
                own, a, f = lower[part], batch.action[i][d], follow[i][d]
                has_token, free = left[i][d] >= TOKEN, forbidden[i][part][a]
                stuck += not has_token and own[f] > own[a] and not free
                forced += free and not has_token
                moves = free or (has_token and own[f] > own[a])
                values.append(own[f] if moves else own[a])
            y = batch.reward[i] / size + batch.discount[i] * np.mean(values)
            for t in twins:
                q = forward(t, [*batch.obs[i][:3], *encoded[0][i], *seen[0][i]])
                taken = [q[part][a] for part, a in zip(HEADS.parts, batch.action[i], strict=True)]
                total += float(np.mean((np.array(taken) - y) ** 2)) / 2
        state, report, _ = update(state, batch, due)
        assert float(report["mixed_critic_loss"]) == pytest.approx(total / 16, rel=5e-4)
    assert stuck > 0
    assert (forced > 0) == masked


class Saver(gym.Env):
    """Two heads, for which switching early pays a little. Later the first must be off again, which
    pays much, and the second must stay on."""

    observation_space = gym.spaces.Box(0, 1, (6,), np.float32)
    action_space = gym.spaces.MultiBinary(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return np.eye(6, dtype=np.float32)[0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        early, late = self.t in (1, 2), self.t > 2
        reward = 0.1 * early * sum(action) + late * (float(action[0] == 0) + float(action[1]))
        self.t += 1
        return np.eye(6, dtype=np.float32)[self.t % 6], reward, False, self.t >= 6, {}


def wishes(obs: np.ndarray) -> np.ndarray:
    """Logits of the policy that is best without a limit."""
    t = obs.argmax(1)
    on = np.stack([np.isin(t, (1, 2)), t > 0], 1) * 2.0 - 1
    return np.stack([-on, on], -1).reshape(len(obs), 4)


@pytest.mark.usefixtures("quick_compiler")
def test_planner_saves_the_token_of_the_head_that_needs_it_later(tmp_path: Path) -> None:
    limit = Limit(0, 1, per_head=True)
    core = load_core(wishes, Saver, output="logits")
    result = smooth(
        core,
        Saver,
        limit=limit,
        steps=3_000,
        train=True,
        episodes=4,
        calibration_episodes=2,
        hidden=(32,),
        out=tmp_path / "run",
    )
    policy = result.candidates["controller"].policy
    assert policy.method == "smooth-heads-limit"
    filtered, planned = (evaluate(p, Saver, 2, 0, True) for p in (core.within(limit), policy))
    assert filtered.summary()["return"] == pytest.approx(3.4)  # the first head is stuck
    assert planned.summary()["return"] == pytest.approx(6.2)
    for episode in planned.episodes:
        changes = episode.actions[1:] != episode.actions[:-1]
        assert changes.sum(0).tolist() == [0, 1]


def test_run_is_resumed_bit_for_bit_and_its_files_act_alike(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"hidden": (8,), "core": {"hidden": (8,)}, "learning_starts": 32}
    config = settings("limit-gate-branching-dqn", "x", envs=8, **changes)
    session = resumed_alike(config, FromZero, tmp_path)
    assert session.drawn.shape == (8, 3 + 3)
    policy = session.policy()
    assert policy.with_setting(0.5).limit == Limit(0.5, 4.0, per_head=True)
    policy.with_limit(0.3, 2, per_head=True).save(tmp_path / "p.safetensors")
    again = Policy.load(tmp_path / "p.safetensors")
    for limited in (policy, policy.with_limit(1.0, 2, per_head=True), again):
        assert switches_in_files(limited, FromZero(), tmp_path) > 0
    with pytest.raises(InputError, match="plans with a limit for each head"):
        policy.with_limit(0.3, 2)


@pytest.mark.usefixtures("quick_compiler")
def test_limits_give_way_to_the_masks_of_heads_in_training_play_and_files(tmp_path: Path) -> None:
    """`MaskedMixer` raises at a masked action."""
    from sb3_contrib import MaskablePPO

    model = MaskablePPO("MlpPolicy", MaskedMixer(), n_steps=64, n_epochs=1, seed=0).learn(64)
    short: dict[str, Any] = {"episodes": 4, "calibration_episodes": 2, "hidden": (16,)}
    limit, out = Limit(0.05, 1, per_head=True), tmp_path / "run"
    result = smooth(model, MaskedMixer, limit=limit, steps=300, train=True, out=out, **short)
    policy = result.candidates["controller"].policy
    assert evaluate(policy, MaskedMixer, 5, 3, True).summary()["forced_switches"] > 0
    assert switches_in_files(policy, MaskedMixer(), tmp_path) > 0


def test_scattered_numbers_are_even_and_independent() -> None:
    numbers = np.concatenate(
        [np.asarray(limit_draws.scattered(jnp.uint32(k), 64, 3)) for k in range(100)]
    )
    assert ((numbers >= 0) & (numbers < 1)).all()
    np.testing.assert_allclose(numbers.mean(0), 0.5, atol=0.02)
    np.testing.assert_allclose(np.corrcoef(numbers.T) - np.eye(3), 0, atol=0.05)


def test_what_planners_of_heads_cannot_do_is_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match="costs is a table for one list of actions"):
        HeadLimitConfig(BranchingDQNConfig(), costs=(0.0,)).build(Spec(3, HEADS))
    controller = HeadLimitConfig(BranchingDQNConfig()).controller(Spec(3, HEADS))
    nothing = np.zeros((1, 3))
    with pytest.raises(InputError, match="cannot decide for an agent: use the policy itself"):
        controller.hold_probability((), nothing, nothing, nothing)
