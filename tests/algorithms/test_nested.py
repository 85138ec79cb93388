import re
from typing import Any, Literal

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

from policy_inertia.actions.discrete import Discrete
from policy_inertia.algorithms.controllers.inertia import InertiaConfig
from policy_inertia.algorithms.dqn import DQNConfig
from policy_inertia.algorithms.interface import AlgorithmConfig, Updated
from policy_inertia.algorithms.sac import SACConfig
from policy_inertia.envs.spec import Spec
from policy_inertia.errors import InputError
from policy_inertia.run_settings import settings
from policy_inertia.training.session import Session
from policy_inertia.types import Array, Transition, Tree
from tests.algorithms import reference
from tests.support.quick_compiler import SAME_PLAN

SPEC = Spec(3, Discrete(4))
DUE = np.ones(2, bool)


def minibatch(n: int = 8, seed: int = 0) -> Transition:
    rng = np.random.default_rng(seed)
    return Transition(
        rng.normal(0, 1, (n, 3)).astype(np.float32),
        rng.integers(-1, 4, n),
        rng.integers(0, 4, n),
        rng.normal(0, 1, n).astype(np.float32),
        np.where(rng.random(n) < 0.2, 0, 0.9).astype(np.float32),
        rng.normal(0, 1, (n, 3)).astype(np.float32),
    )


def in_float64(layers, twin=None):
    pick = (lambda a: a) if twin is None else (lambda a: a[twin])
    return [[np.float64(pick(x["w"])), np.float64(pick(x["b"]))] for x in layers]


def same(ours, theirs, twin=None):
    for mine, (w, b) in zip(in_float64(ours, twin), theirs, strict=True):
        np.testing.assert_allclose(mine[0], w, atol=3e-5)
        np.testing.assert_allclose(mine[1], b, atol=3e-5)


@pytest.mark.parametrize("improvement", ["gradient", "closed-form"])
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.usefixtures("quick_compiler")
def test_three_updates_agree_with_an_independent_algorithm_2(
    at_once: bool, improvement: Literal["gradient", "closed-form"]
) -> None:
    core = SACConfig(
        hidden=(6,), learning_rate=0.01, target_rate=0.1, temperature=0.2, at_once=at_once
    )
    config = InertiaConfig(
        core=core,
        hidden=(6,),
        learning_rate=0.01,
        pic_learning_rate=0.01,
        target_rate=0.1,
        temperature=0.05,
        mu0=0.1,
        at_once=at_once,
        improvement=improvement,
    )
    algorithm = config.build(SPEC)
    state = algorithm.init(np.random.default_rng(1))
    theirs = reference.NSAC(
        in_float64(state.core.actor),
        [in_float64(state.core.critics.online, i) for i in (0, 1)],
        in_float64(state.controller.pic),
        [in_float64(state.controller.critics.online, i) for i in (0, 1)],
        lr=0.01,
        rate=0.1,
        alpha_core=0.2,
        alpha=0.05,
        mu0=0.1,
        at_once=at_once,
        fit=improvement == "closed-form",
    )
    update = jax.jit(algorithm.update)
    for i in range(3):
        batch = minibatch(seed=i)
        state, _, _ = update(state, batch, DUE)
        theirs.update(*(np.float64(x) if x.dtype == np.float32 else x for x in batch))
    same(state.core.actor, theirs.actor)
    same(state.controller.pic, theirs.pic)
    for i in (0, 1):
        same(state.core.critics.online, theirs.critics[i], i)
        same(state.core.critics.target, theirs.targets[i], i)
        same(state.controller.critics.online, theirs.mixed[i], i)
        same(state.controller.critics.target, theirs.mixed_targets[i], i)
    start = algorithm.init(np.random.default_rng(1))
    moved = np.abs(state.controller.pic[0]["w"] - start.controller.pic[0]["w"]).max()
    assert moved > 0.01  # far more than the tolerance: the comparison can fail


PIXELS = Spec(4 * 36 * 36, Discrete(4), image=(4, 36, 36))


def frames() -> Transition:
    pair = np.random.default_rng(0).integers(0, 256, (2, 8, PIXELS.obs_dim), np.uint8)
    return minibatch()._replace(obs=pair[0], next_obs=pair[1])


@pytest.mark.usefixtures("quick_compiler")
def test_from_pixels_the_core_is_asked_once_and_answers_as_if_asked_again() -> None:
    """Updated less often than its controller, the core may have said nothing of the minibatch."""

    def updated(interval: int) -> Updated:
        core = SACConfig(train_interval=interval, at_once=True)
        algorithm = InertiaConfig(core=core, train_interval=2, at_once=True).build(PIXELS)
        state = algorithm.init(np.random.default_rng(0))
        return jax.jit(algorithm.update)(state, frames(), DUE)

    (once, losses, _), (again, losses_again, _) = updated(2), updated(4)
    for name, loss in losses.items():
        np.testing.assert_allclose(loss, losses_again[name], rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=3e-5), once, again)


def test_at_once_evaluates_nothing_twice() -> None:
    """Four twin and four single networks at s or s': Algorithm 2's order needs four more."""

    def products(at_once: bool) -> int:
        config = InertiaConfig(core=SACConfig(at_once=at_once), at_once=at_once)
        algorithm = config.build(PIXELS)
        state = algorithm.init(np.random.default_rng(0))
        update = jax.jit(algorithm.update, compiler_options=SAME_PLAN)
        program = update.lower(state, frames(), DUE).compile()
        return len(re.findall(r" dot\(", program.as_text() or ""))

    layers = 6  # three convolutions, three of the perceptron
    twins = 2  # whose first convolution is two products, the others one of both
    assert products(False) - products(True) == 4 * layers + twins


def test_from_pixels_both_halves_share_one_room() -> None:
    """What XLA needs beside the state, in a loop as the learner's: no two halves at a time."""
    spec = Spec(4 * 84 * 84, Discrete(4), image=(4, 84, 84))
    pair = np.zeros((2, 16, spec.obs_dim), np.uint8)
    batch = minibatch(16)._replace(obs=pair[0], next_obs=pair[1])

    def room(config: AlgorithmConfig) -> int:
        algorithm = config.build(spec)
        state = algorithm.init(np.random.default_rng(0))
        due = np.ones(len(algorithm.intervals), bool)

        # `due` is an argument: as a constant it would leave no branch
        def run(state: Tree, due: Array, n: int) -> Tree:
            return lax.fori_loop(0, n, lambda _, s: algorithm.update(s, batch, due)[0], state)

        program = jax.jit(run, donate_argnums=0, compiler_options=SAME_PLAN)
        compiled = program.lower(state, due, 4).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    core = SACConfig(hidden=(512,), at_once=True)
    assert room(InertiaConfig(core=core, hidden=(512,), at_once=True)) < 1.5 * room(core)


def test_mu_zero_is_plain_sac() -> None:
    """With mu = 0 a whole run of NSAC is SAC's, bit for bit: actions, replay and core."""
    plain = Session(settings("sac", "CartPole-v1", "paper", learning_starts=50), "CartPole-v1")
    mixed = Session(
        settings("nsac", "CartPole-v1", "paper", learning_starts=50, pic_learning_rate=0.0),
        "CartPole-v1",
    )
    pic = mixed.learner.state.controller.pic
    pic[-1] = {"w": jnp.zeros_like(pic[-1]["w"]), "b": jnp.full_like(pic[-1]["b"], -1e9)}
    mixed.learner.fetch()
    for _ in range(150):
        plain.advance()
        mixed.advance()
    assert plain.updates == mixed.updates > 500
    np.testing.assert_array_equal(plain.replay.state(), mixed.replay.state())
    for a, b in zip(
        jax.tree.leaves(plain.learner.state), jax.tree.leaves(mixed.learner.state.core), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    obs, prev = plain.envs.obs, np.arange(8) % 2
    np.testing.assert_array_equal(
        plain.policy().probabilities(obs, prev), mixed.policy().probabilities(obs, prev)
    )


@pytest.mark.parametrize("core", [SACConfig(), DQNConfig()])
def test_core_of_a_seed_is_the_one_it_gives_alone(core: Any) -> None:
    alone = core.build(SPEC).init(np.random.default_rng(3))
    inside = InertiaConfig(core).build(SPEC).init(np.random.default_rng(3)).core
    jax.tree.map(np.testing.assert_array_equal, alone, inside)


@pytest.mark.parametrize("core", [SACConfig(learning_rate=0), DQNConfig(learning_rate=0)])
@pytest.mark.usefixtures("quick_compiler")
def test_outer_update_leaves_the_core_alone(core: Any) -> None:
    algorithm = InertiaConfig(core).build(SPEC)
    state = algorithm.init(np.random.default_rng(0))
    after, report, _ = jax.jit(algorithm.update)(state, minibatch(), DUE)
    part = "actor" if isinstance(core, SACConfig) else "critic"
    jax.tree.map(
        np.testing.assert_array_equal, getattr(state.core, part), getattr(after.core, part)
    )
    assert np.abs(after.controller.pic[0]["w"] - state.controller.pic[0]["w"]).max() > 0
    assert all(np.isfinite(v) for v in report.values())


def test_twins_differ_and_targets_start_equal() -> None:
    state = InertiaConfig(SACConfig()).build(SPEC).init(np.random.default_rng(0))
    for critics in (state.controller.critics, state.core.critics):
        first = critics.online[0]["w"]
        assert np.abs(first[0] - first[1]).max() > 0.1
        jax.tree.map(np.testing.assert_array_equal, critics.online, critics.target)


@pytest.mark.usefixtures("quick_compiler")
def test_every_target_moves_by_its_rate() -> None:
    config = InertiaConfig(SACConfig(target_rate=0.25), target_rate=0.125)
    algorithm = config.build(SPEC)
    old = algorithm.init(np.random.default_rng(0))
    new, _, _ = jax.jit(algorithm.update)(old, minibatch(), DUE)
    for half, rate in (("core", 0.25), ("controller", 0.125)):
        before, after = getattr(old, half).critics, getattr(new, half).critics
        w = (1 - rate) * np.float64(before.target[1]["w"]) + rate * after.online[1]["w"]
        np.testing.assert_allclose(after.target[1]["w"], w, atol=1e-7)
        assert np.abs(after.online[1]["w"] - before.online[1]["w"]).max() > 1e-4


@pytest.mark.parametrize(("m_core", "m"), [(2, 2), (2, 4), (3, 2), (4, 5)])
@pytest.mark.parametrize("envs", [1, 40])
@pytest.mark.usefixtures("quick_compiler")
def test_both_halves_are_updated_at_their_own_interval(m_core: int, m: int, envs: int) -> None:
    config = settings(
        "nsac",
        "CartPole-v1",
        envs=envs,
        learning_starts=40,
        train_interval=m,
        core={"train_interval": m_core},
    )
    session = Session(config, "CartPole-v1")
    while session.step < 120:
        session.advance()

    def count(optimiser):
        return int(next(x for x in jax.tree.leaves(optimiser) if x.dtype == jnp.int32))

    state = session.learner.state
    assert session.updates == sum(t % m_core == 0 for t in range(41, 121))
    assert count(state.core.critics.optimiser) == sum(t % m_core == 0 for t in range(41, 121))
    assert count(state.controller.critics.optimiser) == sum(t % m == 0 for t in range(41, 121))


@pytest.mark.parametrize("mu0", [-0.1, 1.0, 1.5, float("nan")])
def test_mu0_outside_its_range_is_refused(mu0: Any) -> None:
    with pytest.raises(InputError, match=r"mu0 is .* must lie in \[0, 1\)"):
        InertiaConfig(SACConfig(), mu0=mu0)


def test_inertia_keeps_its_lower_bound() -> None:
    algorithm = InertiaConfig(SACConfig(), mu0=0.4).build(SPEC)
    params = algorithm.acting(algorithm.init(np.random.default_rng(0)))
    obs = np.random.default_rng(0).normal(0, 50, (500, 3)).astype(np.float32)
    mu = algorithm.apply(params, obs, np.zeros(500, int)).mu
    assert mu.min() >= 0.4
    assert mu.max() <= 1
    assert not algorithm.apply(params, obs, np.full(500, -1)).mu.any()


@pytest.mark.parametrize("core", [SACConfig(), DQNConfig()])
def test_host_and_device_act_alike(core: Any) -> None:
    algorithm = InertiaConfig(core).build(SPEC)
    params = algorithm.acting(algorithm.init(np.random.default_rng(0)))
    batch = minibatch(64)
    device = algorithm.apply(params, batch.obs, batch.prev_action)
    host = algorithm.apply(jax.tree.map(np.asarray, params), batch.obs, batch.prev_action, np)
    for a, b in zip(jax.tree.leaves(device), jax.tree.leaves(host), strict=True):
        assert isinstance(b, np.ndarray)
        assert b.dtype == np.float32
        np.testing.assert_allclose(a, b, atol=2e-6)
