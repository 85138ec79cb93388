"""The methods by name. A method is a row of data: an algorithm's settings and two transforms."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from policy_inertia.algorithms.dqn import DQNConfig, dqn
from policy_inertia.algorithms.frozen import FrozenConfig, frozen
from policy_inertia.algorithms.interface import Algorithm
from policy_inertia.algorithms.nested import DialConfig, NestedConfig, nested
from policy_inertia.algorithms.sac import SACConfig, sac
from policy_inertia.errors import InputError, nearest
from policy_inertia.types import Spec

Config = (
    DQNConfig
    | SACConfig
    | NestedConfig[DQNConfig]
    | NestedConfig[SACConfig]
    | DialConfig[DQNConfig]
    | DialConfig[SACConfig]
    | FrozenConfig
    | NestedConfig[FrozenConfig]
    | DialConfig[FrozenConfig]
)

REPEATS = (1, 2, 4, 8)  # the paper's repetition set
PENALTY = 0.05  # the paper's price of an inconsistent action


@dataclass(frozen=True)
class Method:
    """One row: what learns, for how many steps an action may be held, the price of a switch."""

    about: str
    config: Config
    repeats: tuple[int, ...] = (1,)
    penalty: float = 0.0


_NSAC = NestedConfig(core=SACConfig())
_NDQN = NestedConfig(core=DQNConfig())

METHODS: dict[str, Method] = {
    "dqn": Method("deep Q-learning: replay and a hard target, nothing else", DQNConfig()),
    "sac": Method("discrete soft actor-critic, twin critics, fixed temperature", SACConfig()),
    "nsac": Method("the paper's method: a learned inertia around discrete SAC", _NSAC),
    "ndqn": Method("the same learned inertia around DQN", _NDQN),
    "dial-dqn": Method(
        "DQN and a controller for every price of switching", DialConfig(core=DQNConfig())
    ),
    "dial-sac": Method(
        "SAC and a controller for every price of switching", DialConfig(core=SACConfig())
    ),
    "dqn-repeat": Method("DQN that also picks how long to hold an action", DQNConfig(), REPEATS),
    "sac-repeat": Method("SAC that also picks how long to hold an action", SACConfig(), REPEATS),
    "dqn-ip": Method("DQN trained with a price on switching", DQNConfig(), penalty=PENALTY),
    "sac-ip": Method("SAC trained with a price on switching", SACConfig(), penalty=PENALTY),
    "nsac-ip": Method("NSAC trained with a price on switching", _NSAC, penalty=PENALTY),
}


# around a policy that somebody has: not to be trained by themselves, so not offered in METHODS
AROUND: dict[str, Method] = {
    "smooth": Method(
        "a controller for every price of switching around a frozen core",
        DialConfig(core=FrozenConfig(), act="gate"),  # of what it never does nothing is known
    ),
    "smooth-mu": Method(
        "the paper's learned inertia around a frozen core",
        DialConfig(
            core=FrozenConfig(),
            act="mu",
            price=0.0,
            learning_rate=NestedConfig.learning_rate,
            target_rate=NestedConfig.target_rate,
            huber=NestedConfig.huber,
            train_interval=NestedConfig.train_interval,
        ),
    ),
}


def find_method(name: str) -> Method:
    """The method of that name, or an error that offers the nearest one."""
    if name in AROUND:
        return AROUND[name]
    if name not in METHODS:
        raise InputError(f"there is no method '{name}'{nearest(name, METHODS)}")
    return METHODS[name]


def build(config: Config, spec: Spec) -> Algorithm:
    """The algorithm that these settings are of."""
    match config:
        case DQNConfig():
            return dqn(config, spec)
        case SACConfig():
            return sac(config, spec)
        case FrozenConfig():
            return frozen(config, spec)
        case NestedConfig():
            return nested(build(config.core, spec), config, spec)


def override(config: Any, settings: dict[str, dict[str, Any]]) -> Any:
    """`config` with the settings given for its class, and for the classes inside it, by name.

    Settings of a class that it extends hold for it as well: a dial is a nested method too.
    """
    changes: dict[str, Any] = {}
    for kind in reversed(type(config).__mro__):
        changes |= settings.get(kind.__name__, {})
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = override(value, settings)
    return dataclasses.replace(config, **changes)


def config_from_dict(template: Any, values: dict[str, Any]) -> Any:
    """The inverse of `dataclasses.asdict`; `template` gives the classes."""
    known = {field.name: getattr(template, field.name) for field in dataclasses.fields(template)}
    for name in values:
        if name not in known:
            raise InputError(
                f"'{name}' is no setting of {type(template).__name__}{nearest(name, known)}"
            )
    optional = {f.name for f in dataclasses.fields(template) if "None" in str(f.type)}
    changes = {
        name: None if value is None and name in optional else _fitting(name, known[name], value)
        for name, value in values.items()
    }
    return dataclasses.replace(template, **changes)


def _fitting(name: str, like: Any, value: Any) -> Any:
    """`value` as what stands for it in files has come to be: of the same kind as `like`."""
    if dataclasses.is_dataclass(like) and isinstance(value, dict):
        return config_from_dict(like, value)
    if dataclasses.is_dataclass(like) and isinstance(value, type(like)):
        return value
    if isinstance(like, tuple) and isinstance(value, list | tuple):
        return tuple(_fitting(name, like[0], item) for item in value) if like else tuple(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(like, bool) or not isinstance(like, int | float):
        fits = like is None or isinstance(value, type(like))
    else:
        fits = number and (isinstance(like, float) or float(value).is_integer())
        value = int(value) if fits and isinstance(like, int) else value
    if not fits:
        kind = {int: "a whole number", float: "a number", bool: "true or false", dict: "a table"}
        expected = kind.get(type(like), f"of the kind of {like!r}")
        raise InputError(f"{name} is {value!r}: it must be {expected}")
    return value
