from policy_inertia.calibration.curves import curves
from tests.support.calibrations import calibration
from tests.support.policies import fresh

ENV, KWARGS = "CartPole-v1", {"max_episode_steps": 5}


def test_policy_without_a_dial_has_the_filter_on_itself() -> None:
    measured: list[str] = []
    (curve,) = curves(fresh("sac"), ENV, 2, 0, KWARGS, watch=measured.append)
    assert measured == [curve.label] == ["hysteresis on sac"]
    assert (curve.table.setting_name, curve.table.episodes) == ("threshold", 2)


def test_table_of_a_dial_is_read_and_measured_again_only_on_request() -> None:
    policy = fresh("dial-dqn").replace(calibration=calibration(0.4, 0.2))
    measured: list[str] = []
    dial, filtered = curves(policy, ENV, 2, 0, KWARGS, watch=measured.append)
    assert dial.table is policy.calibration
    assert measured == [filtered.label] == ["hysteresis on dial-dqn (core)"]
    again, _ = curves(policy, ENV, 2, 0, KWARGS, again=True)
    assert (again.table.setting_name, again.table.task) == ("price", ENV)
