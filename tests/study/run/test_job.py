"""Extra evaluations of a finished run: the policy of a level is chosen on calibration episodes."""

import shutil
from pathlib import Path

import pytest

from policy_inertia import Policy, evaluate
from policy_inertia.actions.bucket import Limit
from policy_inertia.calibration.first_settings import first_settings, strict_thresholds
from policy_inertia.calibration.sweep import calibrate
from policy_inertia.calibration.within_limits import EVERY, within_limits
from policy_inertia.metrics.limit_violations import count_violations
from policy_inertia.metrics.measures import Evaluation
from policy_inertia.policies.protocol import Predictor
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
    assert chosen["violations"] == 0
    assert chosen["chosen_by"] == "upper bound"
    settings = strict_thresholds(Policy.load(finished), lambda p: evaluate_some(p, config))
    assert chosen["trials"] == len(LIMITS) * (1 if name == "limits" else len(settings))


def evaluate_some(policy: Predictor, config: RunConfig) -> Evaluation:
    """Run the episodes of the calibration."""
    seed = stream_seed(config.seed, Stream.CALIBRATION)
    return evaluate(policy, "CartPole-v1", config.calibration_episodes, seed, True)


def test_a_study_may_choose_limits_by_the_mean(
    config: RunConfig, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LIMITS", LIMITS)
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    (copy / "limits.json").unlink(missing_ok=True)
    rows = within_limits(Policy.load(copy), "CartPole-v1", 4, config.seed, LIMITS)
    low = min(rows, key=lambda row: row.bound)
    budget = (low.figures["oscillation_ratio"] + low.bound) / 2  # the mean keeps it, not the bound
    assert low.figures["oscillation_ratio"] < budget < low.bound
    job.evaluate_extra(copy, config, "limits", [budget], "mean")
    chosen = read_extra(copy, config.steps, "limits")[repr(budget)]
    assert chosen["chosen_by"] == "mean"
    (copy / "limits.json").unlink()
    job.evaluate_extra(copy, config, "limits", [budget])
    assert "unreachable" in read_extra(copy, config.steps, "limits")[repr(budget)]


def test_such_a_study_keeps_its_thresholds_inside_a_limit(
    config: RunConfig, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LIMITS", LIMITS)
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    (copy / "tuned_limits.json").unlink(missing_ok=True)
    job.evaluate_extra(copy, config, "tuned_limits", [0.9], "mean")
    chosen = read_extra(copy, config.steps, "tuned_limits")["0.9"]
    settings = first_settings(Policy.load(copy), lambda p: evaluate_some(p, config))
    assert chosen["trials"] == len(LIMITS) * len(settings[::EVERY])


def test_a_violation_is_found_in_the_final_episodes(
    config: RunConfig, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit that is counted against is stricter than the one that the policy has."""
    monkeypatch.setattr(job, "LIMITS", (Limit(0.9, 4),))
    monkeypatch.setattr(
        job, "count_violations", lambda episodes, *_: count_violations(episodes, 0.0, 1)
    )
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    (copy / "limits.json").unlink(missing_ok=True)
    job.evaluate_extra(copy, config, "limits", [1.0])
    figures = read_extra(copy, config.steps, "limits")["1.0"]
    policy = Policy.load(copy).with_limit(0.9, 4)
    seed = stream_seed(config.seed, Stream.FINAL)
    final = evaluate(policy, "CartPole-v1", config.final_episodes, seed, True)
    assert figures["violations"] == sum(max(e.switches - 1, 0) for e in final.episodes) > 0


def test_trials_of_a_calibration_count_every_setting(config: RunConfig, finished: Path) -> None:
    job.evaluate_extra(finished, config, "budgets", [1.0])
    entry = read_extra(finished, config.steps, "budgets")["1.0"]
    policy = calibrate(Policy.load(finished), "CartPole-v1", 4, config.seed)
    assert policy.calibration is not None
    assert entry["trials"] == len(policy.calibration.rows) == policy.calibration.trials
    assert entry["chosen_by"] == "upper bound"
    assert "violations" not in entry


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
    assert levels["1.0"]["trials"] == 1
