"""Extra evaluations of a finished run: the policy of a level is chosen on calibration episodes."""

from pathlib import Path

import pytest

from policy_inertia import Policy, evaluate
from policy_inertia.actions.bucket import Limit
from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.seeds import Stream, stream_seed
from policy_inertia.study.folder import read_extra
from policy_inertia.study.run import job
from policy_inertia.training.loop import run
from tests.support.runs import SHORT
from tests.support.switch_counter import violations_of_episodes

LIMITS = (Limit(0.5, 1), Limit(0.1, 2))


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return settings("dqn", "CartPole-v1", calibration_episodes=4, **SHORT)


@pytest.fixture(scope="module")
def finished(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("job") / "run"
    run(config, path)
    return path


@pytest.mark.parametrize("name", ["limits", "tuned_limits"])
def test_budget_is_reached_by_a_limit_that_the_final_episodes_keep(
    name: str, config: RunConfig, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LIMITS", LIMITS)
    job.evaluate_extra(finished, config, name, [0.9, 0.0])
    levels = read_extra(finished, config.steps, name)
    if name == "limits":  # hysteresis may hold one action for the whole episode, a limit may not
        assert "is not reached within these limits" in str(levels["0.0"]["unreachable"])
    chosen = levels["0.9"]
    limit = next(limit for limit in LIMITS if str(limit) == chosen["limit"])
    policy = Policy.load(finished)
    if name == "tuned_limits":
        assert isinstance(chosen["setting"], float)
        policy = policy.with_setting(chosen["setting"])
    seed = stream_seed(config.seed, Stream.FINAL)
    final = evaluate(policy.within(limit), "CartPole-v1", config.final_episodes, seed, True)
    assert chosen["greedy"] == final.summary()
    episodes = [e.actions.tolist() for e in final.episodes]
    assert violations_of_episodes(episodes, limit.rate, limit.burst) == []


def test_a_policy_that_holds_its_actions_keeps_a_budget_as_it_is_or_not_at_all(
    tmp_path: Path,
) -> None:
    config = settings("dqn-repeat", "CartPole-v1", calibration_episodes=4, **SHORT)
    run(config, tmp_path / "run")
    job.evaluate_extra(tmp_path / "run", config, "budgets", [1.0, 0.0])
    levels = read_extra(tmp_path / "run", config.steps, "budgets")
    policy = Policy.load(tmp_path / "run")
    seed = stream_seed(config.seed, Stream.FINAL)
    final = evaluate(policy, "CartPole-v1", config.final_episodes, seed, True)
    assert levels["1.0"]["greedy"] == final.summary()
    assert "holds its actions by itself" in str(levels["0.0"]["unreachable"])
