"""The loop does not assume that an action is one integer: it trains with pairs of numbers too."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from jax import numpy as jnp

from policy_inertia import evaluate
from policy_inertia.actions import kinds
from policy_inertia.actions.discrete import Discrete
from policy_inertia.algorithms import interface
from policy_inertia.envs.spec import Spec
from policy_inertia.run_settings import RunConfig
from policy_inertia.training.session import Session
from tests.support.pair_actions import PairEnv, Pairs


class UniformPairs(NamedTuple):
    """A uniform distribution over pairs, for `rows` observations."""

    rows: int
    actions: Pairs

    def mode(self) -> np.ndarray:
        return np.ones((self.rows, 2), int)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        return self.actions.sample(rng, self.rows)

    def probability(self, actions: np.ndarray) -> np.ndarray:
        return np.full(self.rows, self.actions.n**-2.0)


@dataclass(frozen=True)
class CountingConfig(interface.AlgorithmConfig):
    """Acts at random and counts how often each number was part of an action."""

    @property
    def traits(self) -> interface.Traits:
        return interface.Traits(scores="values")

    def build(self, spec: Spec) -> interface.Algorithm:
        actions: Any = spec.actions

        def update(state: Any, batch: Any, due: Any) -> interface.Updated:
            counts = state + actions.encode(batch.action, jnp).sum(0)
            return interface.Updated(counts, {"loss": batch.reward.mean()})

        def apply(params: Any, obs: Any, prev_action: Any, xp: Any = jnp) -> interface.Acting:
            policy: Any = UniformPairs(len(obs), actions)
            return interface.Acting(policy, policy, np.zeros(len(obs)), np.zeros((len(obs), 1)))

        return interface.Algorithm(
            init=lambda rng: jnp.zeros(actions.width),
            update=update,
            acting=lambda state: state,
            apply=apply,
            intervals=(2,),
            behaviour=interface.sampling(apply, actions),
        )


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(kinds, "KINDS", (Discrete, Pairs))
    return new_session()


def new_session() -> Session:
    small = {"envs": 2, "batch_size": 16, "buffer_size": 100, "learning_starts": 20}
    config = RunConfig("counting", "pairs", CountingConfig(), penalty=0.5, **small)  # type: ignore[arg-type]
    return Session(config, PairEnv)


def test_pairs_are_stored_sampled_and_learned_from(session: Session) -> None:
    while session.step < 200:
        session.advance()
    records: Any = session.replay.state()
    assert records["action"].shape == (100, 2)
    assert records["prev_action"].min() == -1
    moved = (records["action"] != records["prev_action"]).mean(1)
    first = (records["prev_action"] < 0).all(1)
    paid = records["action"].sum(1) - 0.5 * moved * ~first
    np.testing.assert_allclose(records["reward"], paid)
    counts = np.asarray(session.learner.state)
    assert counts[:3].sum() == counts[3:].sum() == session.updates * 16
    assert counts.min() > 0


def test_run_with_pairs_is_restored_bit_for_bit(session: Session, tmp_path: Path) -> None:
    while session.step < 60:
        session.advance()
    arrays, state = session.state()
    records: Any = session.replay.state()
    arrays, records = {k: np.array(v) for k, v in arrays.items()}, records.copy()
    resumed = new_session()
    assert resumed.restore(arrays, records, state, tmp_path)
    for _ in range(30):
        session.advance()
        resumed.advance()
    np.testing.assert_array_equal(session.replay.state(), resumed.replay.state())
    np.testing.assert_array_equal(session.learner.state, resumed.learner.state)


def test_policy_over_pairs_predicts_and_is_evaluated(session: Session) -> None:
    policy = session.policy()
    action, memory = policy.predict(np.zeros((4, 1), np.float32))
    assert action.shape == memory["previous_action"].shape == (4, 2)
    greedy = evaluate(policy, PairEnv, 3, deterministic=True).summary()
    assert (greedy["return"], greedy["oscillation_ratio"]) == (12, 0)
    sampled = evaluate(policy, PairEnv, 50, seed=1).summary()
    assert abs(sampled["oscillation_ratio"] - 5 / 6 * 8 / 9) < 0.1
