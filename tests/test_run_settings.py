import json
from typing import Any

import pytest

from policy_inertia import InputError
from policy_inertia.run_settings import RunConfig, settings


def test_the_preset_of_the_paper_is_its_table_and_variants_are_rows() -> None:
    config = settings("nsac", "Somewhere-v0", preset="paper")
    assert (config.gamma, config.batch_size, config.buffer_size) == (0.99, 64, 200_000)
    assert (config.eval_every, config.eval_episodes) == (5_000, 20)
    nested: Any = config.config
    assert (nested.temperature, nested.pic_learning_rate, nested.mu0) == (0.01, 3e-4, 0)
    assert (nested.target_rate, nested.train_interval, nested.hidden) == (0.002, 2, (64, 64))
    assert settings("sac-repeat", "X").repeats == (1, 2, 4, 8)
    assert settings("nsac-ip", "X").penalty == 0.05


def test_settings_survive_json() -> None:
    config = settings("nsac", "CartPole-v1", mu0=0.2, core={"temperature": 0.3}, seed=4)
    assert RunConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"steps": 0}, "steps is 0: it must be at least 1"),
        ({"envs": 0}, "envs is 0"),
        ({"gamma": 1.5}, "gamma is 1.5: it must be from 0 to 1"),
        ({"buffer_size": 4}, "buffer_size is 4: it must be at least 8"),
        ({"train_interval": 0}, "train_interval is 0: it must be at least 1"),
        ({"hidden": (64, 0)}, "hidden is .*must be at least 1"),
        ({"core": {"target_rate": 2.0}}, "target_rate is 2.0: it must be from 0 to 1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"repeats": (0, 1)}, "different whole numbers"),
        ({"repeats": (1, 2)}, "holds its actions by its controller"),
        ({"seed": -1}, "seed is -1"),
        ({"mu": 0.1}, "'mu' is no setting of InertiaConfig: did you mean 'mu0'"),
        ({"core": {"temprature": 1}}, "did you mean 'temperature'"),
        ({"steps": 10.5}, "steps is 10.5: it must be a whole number"),
        ({"steps": float("inf")}, "steps is inf: it must be a whole number"),
        ({"mu0": "high"}, "mu0 is 'high': it must be a number"),
        ({"env_kwargs": "simple"}, "env_kwargs is 'simple': it must be a table"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        settings("nsac", "CartPole-v1", **changes)


def test_task_may_be_tested_otherwise_than_it_is_trained() -> None:
    lane_change = settings("dqn", "policy_inertia/LaneChange-v0")
    assert (lane_change.env_kwargs, lane_change.test_kwargs) == ({}, {"preset": "paper-test"})
    kwargs = {"config": {"lanes_count": 3, "duration": 20}}
    changed = settings(
        "dqn", "X", env_kwargs=kwargs, eval_env_kwargs={"config": {"duration": 40}, "preset": "p"}
    )
    assert changed.test_kwargs == {"config": {"lanes_count": 3, "duration": 40}, "preset": "p"}
    assert changed.env_kwargs == kwargs


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert settings("dqn", "X", steps=1e4, hidden=[32.0]).to_dict()["steps"] == 10_000
    assert isinstance(settings("dqn", "X", steps=1e4).steps, int)
