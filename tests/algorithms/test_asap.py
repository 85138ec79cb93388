"""SAC with ASAP: one update against an independent NumPy computation, and what acts."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from policy_inertia.algorithms.asap import ASAPConfig
from policy_inertia.algorithms.box_sac import BoxSACConfig
from policy_inertia.errors import InputError
from policy_inertia.types import Array, Preceded, Tree
from tests.algorithms.box_reference import DUE, SPEC, batch, drawn, gaussian, network, twins

WEIGHTS: dict[str, Any] = {"asap_spatial": 3.0, "asap_prediction": 0.7, "asap_temporal": 0.4}


def preceded() -> Any:
    """A minibatch whose first row is the start of an episode."""
    rows = batch()
    before = np.random.default_rng(5).normal(size=rows.obs.shape).astype(np.float32)
    prev_action = np.array(rows.prev_action)
    prev_action[0] = np.nan
    return Preceded(*rows._replace(prev_action=prev_action), before)


def parts(actor: Tree, obs: Array) -> tuple[np.ndarray, np.ndarray]:
    """The mean action, and what is predicted for the next state."""
    x = network(actor, np.asarray(obs, float))
    return np.tanh(x[:, :2]), x[:, 4:]


def test_loss_of_the_actor_is_that_of_numpy() -> None:
    algorithm = ASAPConfig(hidden=(7,), temperature=0.3, **WEIGHTS).build(SPEC)
    state, rows = algorithm.init(np.random.default_rng(1)), preceded()
    # an average that differs from the actor, as it does after the first update
    slow = jax.tree.map(lambda w: 1.5 * w + 0.1, state.regulariser)
    state = state._replace(regulariser=slow)
    after, losses, _ = algorithm.update(state, rows, DUE)
    actor = [*state.actor[:-1], {k: v[..., :4] for k, v in state.actor[-1].items()}]
    sampled, log_pi = gaussian(actor, rows.obs, drawn(state.key, 2)[1])
    q = twins(after.critics.online, rows.obs, sampled).min(0)
    action, predicted = parts(state.actor, rows.obs)
    then, following = parts(state.actor, rows.prev_obs)[0], parts(state.actor, rows.next_obs)[0]
    spatial = 0.5 * ((following - parts(slow, rows.obs)[1]) ** 2).mean()
    prediction = 0.5 * ((predicted - following) ** 2).mean()
    weight = np.tanh(1 / (following - then + 1e-4) ** 2)
    bends = 0.5 * (2 * action - following - then) ** 2 * weight
    temporal = bends[1:].sum() / bends.size  # the first row has no state before
    expected = (0.3 * log_pi - q).mean() + 3.0 * spatial + 0.7 * prediction + 0.4 * temporal
    assert losses["actor_loss"] == pytest.approx(expected, rel=1e-4)
    for old, new, averaged in zip(
        *map(jax.tree.leaves, (slow, after.actor, after.regulariser)), strict=True
    ):
        np.testing.assert_allclose(averaged, 0.99 * old + 0.01 * new, rtol=1e-5, atol=1e-7)


def test_what_acts_is_an_actor_of_sac_without_the_prediction() -> None:
    algorithm, plain = ASAPConfig(hidden=(7,)).build(SPEC), BoxSACConfig(hidden=(7,)).build(SPEC)
    state, rows = algorithm.init(np.random.default_rng(1)), batch()
    params = algorithm.acting(state)
    shapes = [jax.tree.map(np.shape, p) for p in (params, plain.acting(plain.init(_rng())))]
    assert shapes[0] == shapes[1]
    mean = algorithm.apply(params, rows.obs, rows.prev_action).policy.mode()
    np.testing.assert_allclose(mean, parts(state.actor, rows.obs)[0], rtol=1e-5)


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("name", ["asap_spatial", "asap_target_rate"])
def test_negative_weight_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=name):
        replace(ASAPConfig(), **{name: -0.1})  # type: ignore[arg-type]
