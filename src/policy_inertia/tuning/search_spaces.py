"""What is searched: for each config class, the settings and their ranges. A setting is a row."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from policy_inertia.errors import InputError, nearest
from policy_inertia.run_settings import RunConfig, settings


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`; `log` searches their logarithm."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.log and self.low <= 0):
            raise InputError(
                f"the range from {self.low} to {self.high} cannot be searched: low must be below "
                "high, and above 0 on a logarithmic scale"
            )

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    options: tuple[Any, ...]

    def __contains__(self, value: Any) -> bool:
        return value in self.options


Space = dict[str, "Range | Choice"]
"""What is searched, by setting; the settings of a core have names such as `core.learning_rate`."""

LEARNING_RATE = Range(1e-4, 3e-3, log=True)
TARGET_RATE = Range(1e-3, 5e-2, log=True)
HIDDEN = Choice(((64, 64), (128, 128), (256, 256)))

SPACES: dict[str, Space] = {
    "RunConfig": {
        "gamma": Choice((0.95, 0.98, 0.99, 0.995)),
        "batch_size": Choice((32, 64, 128, 256)),
    },
    "DQNConfig": {
        "learning_rate": LEARNING_RATE,
        "hidden": HIDDEN,
        "train_interval": Choice((1, 2, 4)),
        "target_period": Choice((100, 250, 500, 1_000, 2_500)),
        "exploration": Range(0.05, 0.5),
    },
    "SACConfig": {
        "learning_rate": LEARNING_RATE,
        "hidden": HIDDEN,
        "train_interval": Choice((1, 2, 4)),
        "target_rate": TARGET_RATE,
        "target_entropy_ratio": Range(0.05, 0.7),
    },
    "InertiaConfig": {
        "pic_learning_rate": LEARNING_RATE,
        "temperature": Range(1e-3, 1e-1, log=True),
    },
    "ValuedConfig": {"learning_rate": LEARNING_RATE, "target_rate": TARGET_RATE},
}
"""By the name of a config class; the rows of a base class hold for its subclasses. The preset
`default` turns on what they need, such as SAC's automatic temperature."""


def space_of(config: RunConfig) -> Space:
    """Return what can be searched for a run: the rows of its classes, and of its core's."""
    return {**_rows(config), **_nested_rows(config.config, "")}


def _rows(config: Any) -> Space:
    rows: Space = {}
    for kind in reversed(type(config).__mro__):
        rows |= SPACES.get(kind.__name__, {})
    return rows


def _nested_rows(config: Any, before: str) -> Space:
    rows = {f"{before}{name}": row for name, row in _rows(config).items()}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            rows |= _nested_rows(value, f"{before}{field.name}.")
    return rows


def value_of(config: RunConfig, name: str) -> Any:
    """The value of a setting, such as `batch_size` or `core.learning_rate`.

    Raises:
        InputError: The run has no such setting.
    """
    own = {field.name for field in dataclasses.fields(RunConfig)}
    value: Any = config if name.split(".")[0] in own else config.config
    for part in name.split("."):
        known = [f.name for f in dataclasses.fields(value)] if is_config(value) else []
        if part not in known:
            raise InputError(
                f"{config.method} has no setting '{name}' to search{nearest(part, known)}"
            )
        value = getattr(value, part)
    return value


def is_config(value: Any) -> bool:
    """Whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def with_values(
    method: str, env: str, preset: str, changes: dict[str, Any], values: dict[str, Any]
) -> RunConfig:
    """A run with `changes`, and on top of them the values of a trial by their dotted names."""
    merged = {**changes}
    for name, value in values.items():
        group = merged
        *parents, last = name.split(".")
        for parent in parents:
            group[parent] = {**group.get(parent, {})}
            group = group[parent]
        group[last] = value
    return settings(method, env, preset, **merged)
