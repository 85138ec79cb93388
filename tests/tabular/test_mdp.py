from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from policy_inertia.errors import InputError
from policy_inertia.tabular import EXAMPLES, MDP, garnet, mixed_policy

P = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])
R = np.zeros((2, 2))


def changed(array: ArrayLike, index: Any, value: ArrayLike) -> np.ndarray:
    array = np.array(array, float)
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"P": changed(P, (0, 1, 0), 0.9)}, r"P\[0, 1\] and ends\[0, 1\] sum to 0.9"),
        ({"P": changed(P, (1, 1), [1.25, -0.25])}, r"P\[1, 1, 1\] is -0.25"),
        ({"P": changed(P, (1, 0, 0), np.nan)}, r"P\[1, 0, 0\] is nan"),
        ({"R": changed(R, (0, 0), np.inf)}, r"R\[0, 0\] is inf"),
        ({"gamma": 1.0}, "gamma is 1 without a horizon"),
        ({"gamma": 1.5, "horizon": 3}, r"gamma is 1.5: it must lie in \[0, 1\]"),
        ({"gamma": np.nan}, "gamma is nan"),
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"P": P[0]}, r"P has shape \(2, 2\)"),
        ({"P": np.zeros((0, 0, 0))}, r"P has shape \(0, 0, 0\)"),
        ({"P": "no"}, "P is not an array of numbers"),
        ({"R": np.zeros((2, 3))}, r"R has shape \(2, 3\): with this P it must be \(2, 2\)"),
        ({"rho": [0.5, 0.4]}, "rho sums to 0.9"),
        ({"rho": [1.5, -0.5]}, r"rho\[1\] is -0.5"),
        ({"ends": changed(R, (0, 0), 0.5)}, r"P\[0, 0\] and ends\[0, 0\] sum to 1.5"),
    ],
)
def test_an_ill_formed_mdp_is_refused_in_one_sentence(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as refused:
        MDP(**{"P": P, "R": R, "gamma": 0.9, **arguments})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("core", "message"),
    [
        (np.full((2, 3), 1 / 3), r"the core has shape \(2, 3\)"),
        ([[0.5, 0.6], [1, 0]], "sum to 1"),
        ([[1.5, -0.5], [1, 0]], "sum to 1"),
        ([[np.nan, 1], [1, 0]], "sum to 1"),
    ],
)
def test_an_ill_formed_core_is_refused(core: ArrayLike, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MDP(P, R, 0.9).check_core(core)


def test_mu_outside_0_to_1_is_refused() -> None:
    with pytest.raises(InputError, match=r"mu ranges from 0 to 1.5"):
        mixed_policy(np.eye(2), np.array([[0, 1.5], [0, 0]]))


def test_the_arrays_of_an_mdp_are_read_only_copies() -> None:
    given = P.copy()
    mdp = MDP(given, R, 0.9)
    with pytest.raises(ValueError, match="read-only"):
        mdp.P[0, 0, 0] = 2
    given[0, 0, 0] = 2
    assert np.array_equal(P, mdp.P)


@pytest.mark.parametrize("name", [n for n in EXAMPLES if n != "two-way"])
def test_episodes_of_the_examples_reach_nearly_all_states(name: str) -> None:
    mdp = EXAMPLES[name]()
    reached = mdp.rho > 0
    for _ in range(mdp.states):
        reached = reached | ((reached[:, None, None] & (mdp.P > 0)).any((0, 1)))
    assert reached.mean() > 0.9


def test_the_same_seed_gives_the_same_garnet() -> None:
    assert np.array_equal(garnet(3).P, garnet(3).P)
    assert not np.array_equal(garnet(3).P, garnet(4).P)


def test_a_garnet_ends_with_at_most_the_given_probability() -> None:
    mdp = garnet(0, largest_end=0.5)
    assert 0 < mdp.ends.max() <= 0.5
    assert not garnet(0).ends.any()
