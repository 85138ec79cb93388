import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import (
    CHECKS,
    Check,
    CheckResult,
    median_bounds,
    random_case,
    run_checks,
)


@pytest.fixture(scope="module")
def results() -> list[CheckResult]:
    return list(run_checks(15))


def test_statements_with_a_proof_hold_in_every_case(results: list[CheckResult]) -> None:
    assert [r.check.statement for r in results] == [c.statement for c in CHECKS]
    assert [r.check.statement for r in results if r.check.proved and r.failed] == []


def test_different_temperatures_break_theorem_32(results: list[CheckResult]) -> None:
    for name in ("Theorem 3.2, cooler outer: every Q", "  objective, cooler outer"):
        (cooler,) = (r for r in results if r.check.statement == name)
        assert cooler.failed > 5
        assert cooler.largest_violation > 0


def test_a_result_counts_silent_and_failed_cases() -> None:
    margins = iter([0.5, None, -0.25, 0.0, -1.0])
    check = Check("a statement", "discounted", lambda case: next(margins), proved=False)
    (result,) = run_checks(5, checks=(check,))
    assert (result.cases, result.silent, result.failed) == (5, 1, 2)
    assert (result.smallest_margin, result.largest_violation) == (0.0, 1.0)


def test_a_statement_that_is_always_silent_has_no_margin() -> None:
    (result,) = run_checks(2, checks=(Check("nothing", "discounted", lambda case: None),))
    assert result.silent == 2
    assert np.isnan(result.smallest_margin)


def test_the_same_seed_draws_the_same_case() -> None:
    one, two = random_case(7, "any length"), random_case(7, "any length")
    assert np.array_equal(one.mdp.P, two.mdp.P)
    assert np.array_equal(one.mu, two.mu)
    assert one.mdp.ends.any()


def test_lemma_31_allows_far_less_than_our_bound() -> None:
    paper, ours = median_bounds(50)
    assert 0 < paper < 0.02 < ours


def test_zero_cases_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        list(run_checks(0))
