from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, evaluate, load_core, train
from policy_inertia.actions import kinds
from policy_inertia.envs.vector import Envs
from policy_inertia.evaluation.evaluate import sampled_and_greedy
from policy_inertia.evaluation.recording import record
from tests.support import probes
from tests.support.chase import LENGTH, Chase, Constant, Follower, follow
from tests.support.pair_actions import PairEnv, Pairs
from tests.support.policies import fresh, with_mu
from tests.support.recording_env import Loud


class Steps(probes.Probe):
    """Episodes of different lengths, which report whether they crashed."""

    def begin(self) -> None:
        self.length = int(self.np_random.integers(1, 30))

    def step(self, action: Any) -> Any:
        obs, _, terminated, truncated, _ = super().step(action)
        return obs, 1.0, terminated, truncated, {"crashed": self.length > 15}


class Endless(probes.Probe):
    length = 10**9


class Alternating:
    """A policy of another library that switches at every step."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        n = len(observation)
        state = np.zeros(n, int) if state is None else state
        state = np.where(episode_start, 0, 1 - state)
        return state, state


class Counting(Alternating):
    """Takes the pairs (0, 0), (1, 0), (2, 0), (2, 0), ... of each episode."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        state = np.where(episode_start, 0, 0 if state is None else state + 1)
        return np.stack([np.minimum(state, 2), np.zeros_like(state)], 1), state


def test_same_episodes_for_any_number_of_envs() -> None:
    """Short episodes are not favoured: 1, 3 and 20 envs side by side run the same ones."""
    policy = Alternating()
    evaluations = [evaluate(policy, Envs(Steps, n, lambda i, k: 0), 25, seed=4) for n in (1, 3, 20)]
    lengths = [[len(e) for e in evaluation.episodes] for evaluation in evaluations]
    assert lengths[0] == lengths[1] == lengths[2]
    assert len(lengths[0]) == 25
    assert max(lengths[0]) > 20 > 3 >= min(lengths[0])


def test_figures_of_a_policy_that_switches_at_every_step() -> None:
    evaluation = evaluate(Alternating(), Steps, 25, seed=4)
    figures = evaluation.summary()
    n = np.array([len(e) for e in evaluation.episodes])
    assert figures["oscillation_ratio"] == pytest.approx(np.mean((n - 1) / n))
    assert figures["return"] == pytest.approx(n.mean())
    assert figures["crash_rate"] == pytest.approx(np.mean(n > 15))
    assert figures["termination_rate"] == 1
    assert figures["mu_mean"] is None


def test_action_may_be_more_than_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, Pairs))
    (episode, _) = evaluate(Counting(), PairEnv, 2).episodes
    assert episode.actions.tolist() == [[0, 0], [1, 0], [2, 0], [2, 0], [2, 0], [2, 0]]
    assert (episode.switches, episode.return_) == (2, 9.0)


def test_action_may_be_continuous() -> None:
    (episode, _) = evaluate(Follower(), Chase, 2).episodes
    assert episode.actions.shape == (LENGTH, 2)
    assert abs(episode.actions).max() <= 1
    assert episode.switches > LENGTH / 2
    with pytest.raises(InputError, match="the policy gave nan as number 0 of an action"):
        evaluate(Constant(np.full((2, 2), np.nan)), Chase, 2)
    with pytest.raises(InputError, match="gave 3 as number 0 of an action, and its bounds are -2"):
        evaluate(Constant(np.full((2, 2), 3.0)), Chase, 2)


def test_continuous_policy_is_refused_where_the_bounds_are_others() -> None:
    class Wider(Chase):
        action_space: gym.Space[Any] = gym.spaces.Box(-3, 3, (2,), np.float32)

    core = load_core(follow, Chase)
    with pytest.raises(InputError, match=r"follow acts on a Box .* to 2 and Wider has a Box"):
        evaluate(core, Wider, 1)
    with pytest.raises(InputError, match="and Clock has a Discrete"):
        evaluate(core, probes.Clock, 1)
    with pytest.raises(InputError, match="and Wider has a Box"):
        record(core, Wider, 1, frames=False)


def test_same_seed_same_episodes_and_another_seed_others() -> None:
    policy = fresh("sac")

    def lengths(seed: int) -> list[int]:
        return [len(e) for e in evaluate(policy, "CartPole-v1", 10, seed).episodes]

    assert lengths(1) == lengths(1)
    assert lengths(1) != lengths(2)


def test_inertia_is_averaged_over_the_steps_with_a_previous_action() -> None:
    policy = with_mu(fresh(env=probes.Repeat), np.arctanh(0.5))  # mu = 3/4
    figures = evaluate(policy, probes.Repeat, 20).summary()
    assert figures["mu_mean"] == pytest.approx(0.75)
    assert (figures["mu_under_0.05"], figures["mu_over_0.95"]) == (0, 0)
    # 1 - pi(prev) is a quarter of the core's: the gap is -3/4 of its switch probability
    core = policy.core_probabilities(np.zeros(1))
    assert -0.75 * core.max() < figures["switch_mixed_minus_core"] < -0.75 * core.min()


def test_inertia_is_computed_for_the_counted_episodes_only() -> None:
    policy = with_mu(fresh(env=Steps), 0.0)
    evaluation = evaluate(policy, Steps, 25, seed=4)
    assert len(evaluation.mu) == sum(len(e) - 1 for e in evaluation.episodes)


def test_time_limit_is_not_a_termination() -> None:
    assert evaluate(Alternating(), probes.TimeLimit, 3).summary()["termination_rate"] == 0


def test_zero_episodes_are_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        evaluate(Alternating(), Steps, 0)


def test_env_without_a_time_limit_is_refused_after_many_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("policy_inertia.evaluation.evaluate.MOST_STEPS", 50)
    policy = Alternating()
    with pytest.raises(InputError, match="has not ended after 50 steps: give the env a time limit"):
        evaluate(policy, Endless, 2)
    assert evaluate(policy, lambda: gym.wrappers.TimeLimit(Endless(), 40), 2).episodes


@pytest.mark.parametrize("method", ["dqn", "dial-sac", "sac", "ndqn"])
def test_sampled_and_greedy_agree_with_two_evaluations(tmp_path: Path, method: str) -> None:
    policy = train(method, "CartPole-v1", tmp_path, steps=96, final_episodes=1)
    figures = sampled_and_greedy(policy, "CartPole-v1", 5, seed=3)
    for name, greedy in (("sampled", False), ("greedy", True)):
        assert figures[name] == evaluate(policy, "CartPole-v1", 5, 3, greedy).summary()
    assert policy.deterministic == (method in ("dqn", "dial-sac"))


def test_inertia_is_that_of_the_tokens_at_each_step() -> None:
    """A bucket that holds one token and gets no more: after the only switch mu is 1."""
    policy = fresh("limit-dqn", env=Loud)
    free = evaluate(policy.with_limit(1), Loud, 2).summary()["mu_mean"]
    episodes = evaluate(policy.with_limit(0, 1), Loud, 2)
    switches = [np.flatnonzero(np.diff(e.actions)) for e in episodes.episodes]
    assert all(len(s) == 1 for s in switches)
    after = sum(49 - int(s[0]) - 1 for s in switches)
    assert episodes.summary()["mu_mean"] >= after / 98 > free
