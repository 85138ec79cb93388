"""SAC alone: what the default preset adds to the paper's."""

from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.algorithms.sac import SACConfig
from policy_inertia.errors import InputError
from tests.algorithms import reference
from tests.algorithms.test_nested import SPEC, in_float64, minibatch, same

DUE = np.ones(1, bool)
SMALL: dict[str, Any] = {"hidden": (6,), "learning_rate": 0.01, "target_rate": 0.1}
ALPHA = 0.2


class Reference:
    """SAC with the preset's options, in NumPy."""

    def __init__(self, state: Any, *, bonus: bool, mean: bool, scaled: bool) -> None:
        self.actor = in_float64(state.actor)
        self.critics, self.targets = (
            [in_float64(state.critics.online, i) for i in (0, 1)] for _ in range(2)
        )
        self.adam = [reference.Adam(0.01) for _ in range(3)]
        self.alpha_next, self.scaled, self.size = ALPHA * bonus, scaled, 0.0
        self.join = np.mean if mean else np.min

    def update(self, batch: Any) -> None:
        obs, action, rows = np.float64(batch.obs), batch.action, np.arange(len(batch.action))
        reward = np.float64(batch.reward)
        if self.scaled:
            self.size = self.size or np.sqrt(np.mean(reward**2))
            reward = reward / self.size

        def value(actor, x, q, alpha):
            pi = reference.softmax(reference.network(actor, x))
            return (pi * (q - alpha * np.log(pi))).sum(1)

        def joined(critics, x):
            return self.join([reference.network(critic, x) for critic in critics], axis=0)

        q = joined(self.targets, batch.next_obs)
        y = reward + batch.discount * value(self.actor, batch.next_obs, q, self.alpha_next)
        for critic, adam in zip(self.critics, self.adam, strict=False):
            adam.step(
                critic,
                lambda c: np.mean((reference.network(c, obs)[rows, action] - y) ** 2) / 2,
            )
        q = joined(self.critics, obs)
        self.adam[2].step(self.actor, lambda actor: -np.mean(value(actor, obs, q, ALPHA)))
        for target, critic in zip(self.targets, self.critics, strict=True):
            reference.towards(target, critic, 0.1)
        if self.scaled:
            old, self.size = self.size, self.size * np.sqrt(0.999 + 0.001 * np.mean(y**2))
            for layers in (*self.critics, *self.targets):
                layers[-1] = [x * old / self.size for x in layers[-1]]


@pytest.mark.parametrize(
    ("bonus", "mean", "scaled"),
    [(False, False, False), (True, True, False), (True, False, True), (False, True, True)],
)
@pytest.mark.usefixtures("quick_compiler")
def test_sac_updates_agree_with_an_independent_computation(
    bonus: bool, mean: bool, scaled: bool
) -> None:
    config = SACConfig(
        **SMALL,
        temperature=ALPHA,
        entropy_in_target=bonus,
        pessimistic=not mean,
        scaled=scaled,
    )
    algorithm = config.build(SPEC)
    state = algorithm.init(np.random.default_rng(0))
    theirs = Reference(state, bonus=bonus, mean=mean, scaled=scaled)
    update = jax.jit(algorithm.update)
    for i in range(3):
        batch = minibatch(seed=i)._replace(reward=10 * minibatch(seed=i).reward)
        state, _, _ = update(state, batch, DUE)
        theirs.update(batch)
    same(state.actor, theirs.actor)
    for i in (0, 1):
        same(state.critics.online, theirs.critics[i], i)
        same(state.critics.target, theirs.targets[i], i)
    if scaled:
        assert float(state.size) == pytest.approx(theirs.size, rel=1e-5)


@pytest.mark.usefixtures("quick_compiler")
def test_without_the_bonus_a_policy_earns_nothing_where_nothing_is_paid() -> None:
    batch = minibatch()._replace(
        reward=np.zeros(8, np.float32), discount=np.full(8, 0.9, np.float32)
    )
    losses = {}
    for bonus in (True, False):
        config = SACConfig(**SMALL, entropy_in_target=bonus, temperature=0.5)
        algorithm = config.build(SPEC)
        state = algorithm.init(np.random.default_rng(0))
        zero = jax.tree.map(np.zeros_like, (state.actor, state.critics.online))
        critics = state.critics._replace(online=zero[1], target=zero[1])
        state = state._replace(actor=zero[0], critics=critics)
        losses[bonus] = float(jax.jit(algorithm.update)(state, batch, DUE).losses["critic_loss"])
    # all values are 0, and a uniform policy over four actions has the entropy log 4
    assert losses[False] == 0
    assert losses[True] == pytest.approx((0.9 * 0.5 * np.log(4)) ** 2)  # of two critics


@pytest.mark.usefixtures("quick_compiler")
def test_the_size_of_rewards_does_not_matter_in_the_unit_of_the_task() -> None:
    config = SACConfig(**SMALL, scaled=True, auto_temperature=True, huber=1.0)
    algorithm = config.build(SPEC)
    update = jax.jit(algorithm.update)
    actors = []
    for factor in (1, 1024):
        state = algorithm.init(np.random.default_rng(0))
        for i in range(5):
            batch = minibatch(seed=i)
            state, _, _ = update(state, batch._replace(reward=factor * batch.reward), DUE)
        actors.append(state.actor)
    jax.tree.map(np.testing.assert_array_equal, *actors)


def test_random_actions_of_sac_become_rare_over_a_share_of_the_steps() -> None:
    config = SACConfig(exploration=0.2, epsilon_final=0.05, longest_hold=50, averaged=0.05)
    config = config.for_steps(20_000)  # 10,000 updates
    behaviour = config.build(SPEC).behaviour
    epsilons = [behaviour.epsilon(updates) for updates in (0, 1_000, 2_000, 9_000)]
    assert epsilons == pytest.approx([1, 0.525, 0.05, 0.05])
    assert behaviour.longest_hold == 50
    assert config.average_rate == pytest.approx(1 / 500)
    given = SACConfig(exploration=0.2, epsilon_decay=0.1).for_steps(20_000)
    assert given.epsilon_decay == 0.1
    paper = SACConfig()
    assert paper.for_steps(20_000) is paper


def test_wrong_settings_of_sac_are_refused() -> None:
    with pytest.raises(InputError, match=r"averaged is 1\.5: it must be from 0 to 1"):
        SACConfig(averaged=1.5)
    with pytest.raises(InputError, match="epsilon_decay is -1"):
        SACConfig(epsilon_decay=-1)
