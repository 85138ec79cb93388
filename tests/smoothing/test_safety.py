"""`smooth` with `safe`: no policy that loses more than allowed is recommended."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policy_inertia import InputError, Limit, smooth
from policy_inertia.smoothing.safety import BATCH, Safety, SafetyTests
from policy_inertia.smoothing.verdict import decide, decide_within
from tests.smoothing.test_verdict import CORE, STAKES, candidate
from tests.support import probes
from tests.support.cores import unsure

MEANS = {"core": 100.0, "random": 20.0, "as good": 100.0, "at the edge": 96.0, "bad": 90.0}
"""The core gains 80, so a loss of 5% is 4."""


def safety_of(seed: int, most: int = 1000, spread: float = 3.0) -> SafetyTests:
    """The tests of policies whose returns are normal."""

    def returns(policy: str, batch: int) -> np.ndarray:
        # the same episodes for every policy: a part of the noise is common to all
        common = np.random.default_rng((seed, batch)).normal(0, 5, BATCH)
        rng = np.random.default_rng((seed, batch, *policy.encode()))
        return MEANS[policy] + common + rng.normal(0, spread, BATCH)

    seen = np.concatenate([returns("core", 10**6), returns("random", 10**6)])
    settings: dict[str, Any] = {"loss": 0.05, "error": 0.1, "most": most}
    return SafetyTests.within(seen, returns, "core", "random", **settings)


def test_loss_that_is_allowed_only_just_is_seldom_called_safe() -> None:
    runs = 120
    wrong = 0
    for seed in range(runs):
        tests = safety_of(seed, most=400)
        wrong += any(tests.test("at the edge").safe for _ in range(2))  # two candidates
    assert wrong / runs <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / runs)


def test_number_of_episodes_comes_from_the_test() -> None:
    good, bad = safety_of(0).test("as good"), safety_of(0).test("bad")
    assert good.safe is True
    assert bad.safe is False
    assert BATCH < good.episodes < 400
    noisy = safety_of(0, spread=15.0).test("as good")
    assert noisy.safe is True
    assert noisy.episodes > good.episodes
    unsettled = safety_of(0, most=2 * BATCH).test("as good")
    assert (unsettled.safe, unsettled.episodes) == (None, 2 * BATCH)


def test_every_further_candidate_needs_a_higher_confidence() -> None:
    tests = safety_of(0)
    assert [tests.test("as good").confidence for _ in range(3)] == [0.95, 0.975, 0.9875]


def test_candidate_that_is_not_shown_to_be_safe_is_not_recommended() -> None:
    good = candidate("hysteresis", 0.1, 9.9)
    unsafe = {"core": CORE, "hysteresis": replace(good, safety=Safety(None, 0.975, 300))}
    verdict = decide(unsafe, 0.2, STAKES)
    assert (verdict.name, verdict.met) == ("core", False)
    assert (
        "hysteresis is out, since a loss of 5% is not excluded with 97.5% confidence after 300 "
        "episodes" in verdict.reason
    )
    limited = decide_within(unsafe, Limit(0.1, 2), STAKES)
    assert (limited.name, limited.met) == ("core", False)
    assert "It does not keep the limit" in limited.reason
    safe = {"core": CORE, "hysteresis": replace(good, safety=Safety(True, 0.975, 300))}
    assert decide(safe, 0.2, STAKES).name == "hysteresis"
    worse = replace(good, safety=Safety(False, 0.975, 60))
    assert "loses more than 5%, with 97.5% confidence after 60" in STAKES.fault(worse)


def test_smooth_tests_its_filter_on_further_episodes() -> None:
    short: dict[str, Any] = {"episodes": 10, "calibration_episodes": 5, "hysteresis_only": True}
    result = smooth(unsure, probes.DeadZone, 0.2, safe=0.9, **short)
    safety = result.candidates["hysteresis"].safety
    assert safety is not None
    assert safety.confidence == pytest.approx(0.95)
    assert result.recommended == ("hysteresis" if safety.safe else "core")
    assert result.to_dict()["candidates"]["hysteresis"]["safety"]["episodes"] == safety.episodes
    with pytest.raises(InputError, match=r"safe is 1: give a confidence"):
        smooth(unsure, probes.DeadZone, 0.2, safe=1, **short)
