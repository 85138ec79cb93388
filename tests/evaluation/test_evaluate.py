import gymnasium as gym
import numpy as np
import pytest

from policy_inertia import InputError, evaluate, train
from policy_inertia.envs.vector import Envs
from policy_inertia.evaluation.evaluate import sampled_and_greedy
from tests.support import probes
from tests.support.policies import fresh, with_mu


class Steps(probes.Probe):
    """Episodes of different lengths; says whether it crashed."""

    def begin(self):
        self.length = int(self.np_random.integers(1, 30))

    def step(self, action):
        obs, _, terminated, truncated, _ = super().step(action)
        return obs, 1.0, terminated, truncated, {"crashed": self.length > 15}


class Endless(probes.Probe):
    length = 10**9


class Alternate:
    """A foreign policy that is no Policy: it switches at every step."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        n = len(observation)
        state = np.zeros(n, int) if state is None else state
        state = np.where(episode_start, 0, 1 - state)
        return state, state


def test_exactly_the_asked_episodes_whatever_their_length():
    """Short episodes are not favoured: the same ones come out from 1, 3 or 20 envs side by side."""
    policy = Alternate()
    found = [
        evaluate(policy, Envs(Steps, n, lambda i, k: 0), 25, seed=4).episodes for n in (1, 3, 20)
    ]
    lengths = [[len(e) for e in episodes] for episodes in found]
    assert lengths[0] == lengths[1] == lengths[2]
    assert len(lengths[0]) == 25
    assert max(lengths[0]) > 20 > 3 >= min(lengths[0])


def test_figures_of_a_policy_that_switches_at_every_step():
    evaluation = evaluate(Alternate(), Steps, 25, seed=4)
    figures = evaluation.summary()
    n = np.array([len(e) for e in evaluation.episodes])
    assert figures["oscillation_ratio"] == pytest.approx(np.mean((n - 1) / n))
    assert figures["return"] == pytest.approx(n.mean())
    assert figures["crash_rate"] == pytest.approx(np.mean(n > 15))
    assert figures["termination_rate"] == 1
    assert figures["mu_mean"] is None


def test_same_seed_same_episodes_and_another_seed_others():
    policy = fresh("sac")

    def lengths(seed):
        return [len(e) for e in evaluate(policy, "CartPole-v1", 10, seed).episodes]

    assert lengths(1) == lengths(1)
    assert lengths(1) != lengths(2)


def test_inertia_is_reported_over_the_steps_that_had_a_previous_action():
    policy = with_mu(fresh(env=probes.Repeat), np.arctanh(0.5))  # mu = 3/4
    figures = evaluate(policy, probes.Repeat, 20).summary()
    assert figures["mu_mean"] == pytest.approx(0.75)
    assert (figures["mu_under_0.05"], figures["mu_over_0.95"]) == (0, 0)
    # 1 - pi(prev) is a quarter of the core's: the gap is -3/4 of its switch probability
    core = policy.core_probabilities(np.zeros(1))
    assert -0.75 * core.max() < figures["switch_mixed_minus_core"] < -0.75 * core.min()


def test_inertia_counts_the_asked_episodes_only():
    policy = with_mu(fresh(env=Steps), 0.0)
    evaluation = evaluate(policy, Steps, 25, seed=4)
    assert len(evaluation.mu) == sum(len(e) - 1 for e in evaluation.episodes)


def test_time_limits_are_not_terminations():
    assert evaluate(Alternate(), probes.TimeLimit, 3).summary()["termination_rate"] == 0


def test_no_episodes_are_refused():
    with pytest.raises(InputError, match="at least one"):
        evaluate(Alternate(), Steps, 0)


def test_env_without_a_time_limit_does_not_evaluate_for_ever(monkeypatch):
    monkeypatch.setattr("policy_inertia.evaluation.evaluate.LONGEST", 50)
    policy = Alternate()
    with pytest.raises(InputError, match="has not ended after 50 steps: give the env a time limit"):
        evaluate(policy, Endless, 2)
    assert evaluate(policy, lambda: gym.wrappers.TimeLimit(Endless(), 40), 2).episodes


@pytest.mark.parametrize("method", ["dqn", "dial-sac", "sac", "ndqn"])
def test_deterministic_policy_has_the_same_figures_sampled_and_greedy(tmp_path, method):
    policy = train(method, "CartPole-v1", tmp_path, steps=96, final_episodes=1)
    found = sampled_and_greedy(policy, "CartPole-v1", 5, seed=3)
    for name, greedy in (("sampled", False), ("greedy", True)):
        assert found[name] == evaluate(policy, "CartPole-v1", 5, 3, greedy).summary()
    assert policy.deterministic == (method in ("dqn", "dial-sac"))
