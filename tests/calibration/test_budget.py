import numpy as np
import pytest

from policy_inertia import InputError
from policy_inertia.calibration.budget import closest_to_budget
from tests.support.calibrations import calibration, reaching
from tests.support.policies import fresh


def test_uncalibrated_policy_says_how_to_calibrate_it() -> None:
    with pytest.raises(InputError, match=r"policy = policy_inertia\.calibrate\(policy, env\)"):
        fresh("sac").with_budget(0.1)
    with pytest.raises(InputError, match="not calibrated"):
        closest_to_budget(fresh("sac"), 0.1)


def test_smoothest_setting_stands_in_for_a_budget_that_no_setting_keeps() -> None:
    policy = reaching(fresh("dial-dqn"), 2.0).replace(calibration=calibration(0.4, 0.1, 0.2))
    assert closest_to_budget(policy, 0.3).price == 0.5
    assert closest_to_budget(policy, 0.15).price == 0.5  # 0.2 at the highest price breaks it


def test_budget_can_change_between_two_steps() -> None:
    policy = reaching(fresh("dial-dqn"), 2.0).replace(calibration=calibration(0.4, 0.3, 0.2))
    obs = np.ones(4, np.float32)
    _, state = policy.predict(obs)
    smoother = policy.with_budget(0.3)
    assert (policy.price, smoother.price, smoother.with_budget(0.2).price) == (0, 0.5, 1.0)
    action, after = smoother.predict(obs, state)
    assert after["previous_action"] == action
    assert "price=0.5" in repr(smoother)
