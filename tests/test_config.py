import json

import pytest

from policy_inertia import InputError
from policy_inertia.config import RunConfig, settings


def test_defaults_are_the_papers_and_variants_are_rows():
    config = settings("nsac", "Somewhere-v0")
    assert (config.gamma, config.batch_size, config.buffer_size) == (0.99, 64, 200_000)
    assert (config.eval_every, config.eval_episodes) == (5_000, 20)
    nested = config.config
    assert (nested.temperature, nested.pic_learning_rate, nested.mu0) == (0.01, 3e-4, 0)
    assert (nested.target_rate, nested.train_interval, nested.hidden) == (0.002, 2, (64, 64))
    assert settings("sac-repeat", "X").repeats == (1, 2, 4, 8)
    assert settings("nsac-ip", "X").penalty == 0.05


def test_settings_survive_json():
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
        ({"repeats": (1, 2)}, "holds its actions by its inertia"),
        ({"seed": -1}, "seed is -1"),
        ({"mu": 0.1}, "'mu' is no setting of NestedConfig: did you mean 'mu0'"),
        ({"core": {"temprature": 1}}, "did you mean 'temperature'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, says):
    with pytest.raises(InputError, match=says):
        settings("nsac", "CartPole-v1", **changes)
