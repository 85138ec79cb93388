"""Search spaces: every row is a setting of its class, and the preset lies inside."""

import dataclasses

import pytest

from policy_inertia import METHODS
from policy_inertia.errors import InputError
from policy_inertia.run_settings import settings
from policy_inertia.tuning.search_spaces import (
    SPACES,
    Choice,
    Range,
    space_of,
    value_of,
    with_values,
)


@pytest.mark.parametrize("method", METHODS)
def test_every_row_is_a_setting_that_can_be_changed(method: str) -> None:
    base = settings(method, "CartPole-v1")
    space = space_of(base)
    assert {"gamma", "batch_size"} < set(space)
    assert any(name.split(".")[-1] == "learning_rate" for name in space)
    for name, row in space.items():
        value_of(base, name)
        ends = row.options if isinstance(row, Choice) else (row.low, row.high)
        for value in ends:
            changed = with_values(method, "CartPole-v1", "default", {}, {name: value})
            assert value_of(changed, name) == value


def test_preset_lies_inside_the_space() -> None:
    for method in ("dqn", "sac", "nsac", "dial-dqn"):
        base = settings(method, "CartPole-v1")
        outside = [n for n, row in space_of(base).items() if value_of(base, n) not in row]
        assert outside == []


def test_names_of_the_table_are_classes_of_configs() -> None:
    known: set[str] = set()
    for method in METHODS:
        config = settings(method, "CartPole-v1")
        parts = [config, config.config, getattr(config.config, "core", None)]
        known |= {k.__name__ for part in parts if part for k in type(part).__mro__}
    assert set(SPACES) <= known


def test_changes_of_all_trials_stay_beside_the_values_of_a_trial() -> None:
    changes = {"core": {"temperature": 0.5}, "steps": 100}
    config = with_values("nsac", "CartPole-v1", "default", changes, {"core.learning_rate": 0.001})
    assert value_of(config, "core.temperature") == 0.5
    assert value_of(config, "core.learning_rate") == 0.001
    assert dataclasses.asdict(config)["steps"] == 100
    assert changes == {"core": {"temperature": 0.5}, "steps": 100}


@pytest.mark.parametrize(("low", "high", "log"), [(1, 1, False), (2, 1, False), (0, 1, True)])
def test_range_that_cannot_be_searched_is_refused(low: float, high: float, log: bool) -> None:
    with pytest.raises(InputError, match="cannot be searched"):
        Range(low, high, log)
