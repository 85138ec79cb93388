import numpy as np
import pytest

from policy_inertia.errors import InputError
from policy_inertia.tabular import CHECKS, Check, median_bounds, random_case, run_checks


@pytest.fixture(scope="module")
def findings():
    return list(run_checks(15))


def test_what_is_promised_holds_everywhere(findings):
    assert [f.check.about for f in findings] == [c.about for c in CHECKS]
    assert [f.check.about for f in findings if f.check.promised and f.failed] == []


def test_different_temperatures_break_theorem_32(findings):
    cooler = next(f for f in findings if "cooler" in f.check.about)
    assert cooler.failed > 5
    assert cooler.violation > 0


def test_margins_are_counted_as_they_come():
    margins = iter([0.5, None, -0.25, 0.0, -1.0])
    check = Check("a statement", "discounted", lambda case: next(margins), promised=False)
    (found,) = run_checks(5, checks=(check,))
    assert (found.tried, found.said_nothing, found.failed) == (5, 1, 2)
    assert (found.smallest, found.violation) == (0.0, 1.0)


def test_a_statement_that_is_silent_has_no_margin():
    (found,) = run_checks(2, checks=(Check("nothing", "discounted", lambda case: None),))
    assert found.said_nothing == 2
    assert np.isnan(found.smallest)


def test_the_same_seed_draws_the_same_case():
    one, two = random_case(7, "any length"), random_case(7, "any length")
    assert np.array_equal(one.mdp.P, two.mdp.P)
    assert np.array_equal(one.mu, two.mu)
    assert one.mdp.ends.any()


def test_lemma_31_allows_far_less_than_our_bound():
    paper, ours = median_bounds(50)
    assert 0 < paper < 0.02 < ours


def test_no_cases_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        list(run_checks(0))
