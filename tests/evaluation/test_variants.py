from policy_inertia.evaluation.variants import variants
from tests.support.calibrations import calibration
from tests.support.policies import fresh


def test_every_policy_is_sampled_and_greedy() -> None:
    policy = fresh("sac")
    rows = variants(policy)
    assert [(v.label, v.deterministic) for v in rows] == [("sampled", False), ("greedy", True)]
    assert all(v.policy is policy for v in rows)


def test_core_of_a_nested_policy_is_a_variant() -> None:
    core = variants(fresh("nsac"))[2]
    assert (core.label, core.policy.nested) == ("core, sampled", False)


def test_filter_is_put_around_the_policy_at_each_threshold() -> None:
    rows = variants(fresh("sac"), thresholds=(0.1, 2))[2:]
    assert [(v.label, v.policy.hysteresis) for v in rows] == [
        ("hysteresis 0.1, sampled", 0.1),
        ("hysteresis 0.1, greedy", 0.1),
        ("hysteresis 2, sampled", 2),
        ("hysteresis 2, greedy", 2),
    ]


def test_dial_is_set_by_prices_and_by_budgets() -> None:
    policy = fresh("dial-dqn").replace(calibration=calibration(0.4, 0.2, 0.1))
    rows = variants(policy, prices=(0.25,), budgets=(0.25,))[3:]
    assert [(v.label, v.policy.price, v.deterministic) for v in rows] == [
        ("price 0.25", 0.25, True),
        ("budget 0.25 (price 0.5), greedy", 0.5, True),
    ]
