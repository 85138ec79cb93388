import numpy as np
import pytest

from policy_inertia import InputError, evaluate, load_core
from policy_inertia.policies.core_policy import core_policy, label_of
from tests.support.policies import fresh


def test_core_and_its_policy_act_alike() -> None:
    core = load_core(fresh("sac"))
    policy = core_policy(core, "CartPole-v1")
    expected = evaluate(core, "CartPole-v1", 2, deterministic=True).summary()
    assert evaluate(policy, "CartPole-v1", 2, deterministic=True).summary() == expected
    filtered = core_policy(core.with_hysteresis(0.3).with_limit(0.2), "CartPole-v1")
    assert filtered.hysteresis == 0.3
    assert filtered.limit is not None


def test_label_is_the_name_of_the_core_or_the_method() -> None:
    assert label_of(core_policy(load_core(fresh("sac"), name="mine"), "CartPole-v1")) == "mine"
    assert label_of(fresh("nsac")) == "nsac"


def test_hysteresis_around_a_core_of_actions_is_refused() -> None:
    core = load_core(lambda obs: np.zeros(len(obs), int), "CartPole-v1", output="action")
    policy = core_policy(core, "CartPole-v1")
    with pytest.raises(InputError, match="gives actions only, and hysteresis compares"):
        policy.with_hysteresis(0.1)
    assert policy.with_limit(0.1).limit is not None
