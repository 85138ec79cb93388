"""The paper's inertia for each head: its equations, what it learns, and its files."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, Policy, evaluate, load_core, measure, smooth
from policy_inertia.algorithms.branching_dqn import BranchingDQNConfig
from policy_inertia.algorithms.controllers.head_inertia import HeadInertiaConfig
from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.run_settings import settings
from tests.algorithms.test_branching_dqn import HEADS
from tests.algorithms.test_nested import in_float64
from tests.support.exported_episodes import switches_in_files
from tests.support.head_updates import forward, prepared
from tests.support.heads_env import FromZero, MaskedMixer
from tests.support.resumed import resumed_alike

MU0, ALPHA = 0.1, 0.05
GRID = np.linspace(0, 1, 200_001)


def soft_value(pi: np.ndarray, q: np.ndarray) -> Any:
    """pi^T [Q - alpha log pi], for one policy or for rows of them."""
    logs = np.log(np.where(pi > 0, pi, 1))
    return (pi * (q - ALPHA * logs)).sum(-1)


def mixed(mu: Any, core: np.ndarray, last: int) -> np.ndarray:
    """mu delta(last) + (1 - mu) core, for one mu or for rows of them."""
    mu = np.asarray(mu)[..., None]
    return mu * np.eye(len(core))[last] + (1 - mu) * core


def best_mu(q: np.ndarray, core: np.ndarray, last: int) -> float:
    """The best of 200,001 mu; 0 where every mu is the same policy."""
    values = soft_value(mixed(GRID, core, last), q)
    return float(GRID[values.argmax()])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.usefixtures("quick_compiler")
def test_updates_agree_with_the_equations_worked_out_by_hand(masked: bool) -> None:
    core: Any = FrozenConfig() if masked else BranchingDQNConfig(hidden=(6,), train_interval=1)
    config = HeadInertiaConfig(core, mu0=MU0, temperature=ALPHA, hidden=(6,), train_interval=1)
    state, update, inner, improve, batch, due = prepared(config, masked)
    encoded = [np.asarray(HEADS.encode(a)) for a in (batch.prev_action, batch.action)]
    forbidden = 0
    for _ in range(3):
        before, (improved, _, _) = state.controller, improve(state.core, batch, due[:-1])
        state, report, _ = update(state, batch, due)
        pic = in_float64(before.pic)
        old, targets, new = (
            [in_float64(part, i) for i in (0, 1)]
            for part in (before.critics.online, before.critics.target, state.controller.critics[0])
        )
        params = inner.acting(improved)
        now, then = (
            np.exp(np.asarray(inner.apply(params, obs, batch.action).policy.log_pi, float))
            for obs in (batch.obs, batch.next_obs)
        )
        critic_loss = pic_loss = 0.0
        for i in range(16):
            inputs = [*batch.obs[i][:3], *encoded[0][i]]
            following = [*batch.next_obs[i][:3], *encoded[1][i]]
            x, x_next = forward(pic, inputs), forward(pic, following)
            q_next = np.minimum(*(forward(t, following) for t in targets))
            q = np.minimum(*(forward(t, inputs) for t in new))
            value = 0.0
            for d, part in enumerate(HEADS.parts):
                last = batch.action[i][d]
                mu = MU0 + (1 - MU0) / (1 + np.exp(-2 * x_next[d]))
                repeats = not masked or then[i][part][last] > 0
                forbidden += not repeats
                pi = mixed(mu if repeats else 0.0, then[i][part], last)
                value += soft_value(pi, q_next[part]) / 3

                last, p = batch.prev_action[i][d], now[i][part]
                weight = 1 - p[last] if not masked or p[last] > 0 else 0.0
                target = max((best_mu(q[part], p, last) - MU0) / (1 - MU0), 0)
                fit = np.logaddexp(0, 2 * x[d]) - target * 2 * x[d]
                pic_loss += weight * fit / 3
            y = batch.reward[i] + batch.discount[i] * value
            for twin in old:
                own = forward(twin, inputs)
                taken = [own[part][a] for part, a in zip(HEADS.parts, batch.action[i], strict=True)]
                critic_loss += float(np.mean((np.array(taken) - y) ** 2)) / 2
        assert float(report["mixed_critic_loss"]) == pytest.approx(critic_loss / 16, rel=5e-4)
        assert float(report["pic_loss"]) == pytest.approx(pic_loss / 16, rel=5e-4)
    assert (forbidden > 0) == masked


class Pump(gym.Env):
    """Two switches with a light each: the first must follow its light, the second must rest."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.MultiBinary(2)

    def _see(self) -> np.ndarray:
        self.lights = self.np_random.choice([-1.0, 1.0], 2).astype(np.float32)
        return self.lights

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        self.last: Any = None
        return self._see(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        switched = self.last is not None and action[1] != self.last
        reward = float(action[0] == (self.lights[0] > 0)) - 0.5 * switched
        self.t, self.last = self.t + 1, action[1]
        return self._see(), reward, False, self.t >= 20, {}


@pytest.mark.usefixtures("quick_compiler")
def test_inertia_calms_the_head_that_should_rest_and_no_other(tmp_path: Path) -> None:
    """The core switches both heads with their lights, in half of the steps each."""

    def follow(obs: np.ndarray) -> np.ndarray:
        return np.stack([-obs, obs], -1).reshape(len(obs), 4) * 5

    core = load_core(follow, Pump, output="logits")
    changes: dict[str, Any] = {"hidden": (16,), "gamma": 0.5, "train_interval": 1}
    result = smooth(
        core,
        Pump,
        0.5,
        3_000,
        train=True,
        mu=True,
        episodes=4,
        calibration_episodes=2,
        out=tmp_path / "run",
        learning_rate=3e-3,
        pic_learning_rate=3e-3,
        target_rate=0.02,
        **changes,
    )
    policy = result.candidates["controller"].policy.replace(hysteresis=None)
    assert policy.method == "smooth-heads-mu"
    lights = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], np.float32)
    mu = policy.inertia(lights, (lights < 0).astype(int))  # both heads are about to switch
    assert (mu[:, 0] < 0.1).all()
    assert (mu[:, 1] > 0.9).all()
    bare, calm = (
        measure(evaluate(p, Pump, 20, 1, True).episodes).oscillation_per_head
        for p in (core, policy)
    )
    assert calm[0] == bare[0]
    assert calm[1] < 0.1 * bare[1]


def test_run_is_resumed_bit_for_bit_and_its_files_act_alike(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"hidden": (8,), "core": {"hidden": (8,)}, "learning_starts": 32}
    config = settings("inertia-branching-dqn", "x", envs=8, mu0=0.01, **changes)
    policy = resumed_alike(config, FromZero, tmp_path).policy()
    obs = np.zeros((2, 3), np.float32)
    mu = policy.inertia(obs, [[0, 1, 2]] * 2)
    assert mu.shape == (2, 3)
    assert (mu >= 0.01).all()
    policy.with_hysteresis(0.01).save(tmp_path / "p.safetensors")
    again = Policy.load(tmp_path / "p.safetensors")
    assert switches_in_files(again, FromZero(), tmp_path) > 0


@pytest.mark.usefixtures("quick_compiler")
def test_inertia_of_masked_heads_repeats_no_masked_action(tmp_path: Path) -> None:
    """`MaskedMixer` raises at a masked action, in training too."""
    from sb3_contrib import MaskablePPO

    model = MaskablePPO("MlpPolicy", MaskedMixer(), n_steps=64, n_epochs=1, seed=0).learn(64)
    short: dict[str, Any] = {"episodes": 4, "calibration_episodes": 2, "hidden": (16,)}
    changes: dict[str, Any] = {"mu0": 0.6, **short}
    out = tmp_path / "run"
    result = smooth(model, MaskedMixer, steps=300, train=True, mu=True, out=out, **changes)
    policy = result.candidates["controller"].policy.replace(hysteresis=None)
    masked = evaluate(policy, MaskedMixer, 5, 3).summary()  # sampled
    assert masked["head_oscillation"] > 0
    assert switches_in_files(policy, MaskedMixer(), tmp_path) > 0


def test_agents_with_actions_of_their_own_are_refused() -> None:
    controller = HeadInertiaConfig(BranchingDQNConfig()).controller(Spec(3, HEADS))
    nothing = np.zeros((1, 3))
    with pytest.raises(InputError, match="cannot decide for an agent: use the policy itself"):
        controller.hold_probability((), nothing, nothing, nothing)
