"""The recipe for a variant, followed literally."""

from pathlib import Path

import policy_inertia as pi
from policy_inertia.methods import METHODS
from policy_inertia.run_settings import RunConfig, settings
from tests.support.recipes import Follow
from tests.support.runs import SHORT


def test_a_row_is_a_method_that_trains(follow: Follow, tmp_path: Path) -> None:
    follow("A variant", METHODS)
    policy = pi.train("nsac-calm", "CartPole-v1", tmp_path / "run", **SHORT)
    assert policy.inertia([[0.0, 0.0, 0.1, 0.0]], [1])[0] >= 0.2
    config = settings("nsac-calm", "CartPole-v1", mu0=0.3)
    assert RunConfig.from_dict(config.to_dict()) == config
