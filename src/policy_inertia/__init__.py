"""Smooth discrete-action policies: nested policy iteration, its baselines, and their measurement.

The names below are the public interface; everything else is free to change. They are imported when
first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .algorithms import METHODS as METHODS
    from .comparison import compare as compare
    from .config import RunConfig as RunConfig
    from .config import settings as settings
    from .envs import TASKS as TASKS
    from .evaluation import evaluate as evaluate
    from .interop import Core as Core
    from .interop import SmoothActions as SmoothActions
    from .interop import load_core as load_core
    from .interop.smoothing import smooth as smooth
    from .metrics import oscillation_ratio as oscillation_ratio
    from .metrics import summarise as summarise
    from .policy import Policy as Policy
    from .training import train as train
    from .types import InputError as InputError

_HOME = {
    "Core": "interop",
    "METHODS": "algorithms",
    "TASKS": "envs",
    "InputError": "types",
    "Policy": "policy",
    "RunConfig": "config",
    "SmoothActions": "interop",
    "compare": "comparison",
    "evaluate": "evaluation",
    "load_core": "interop",
    "oscillation_ratio": "metrics",
    "settings": "config",
    "smooth": "interop.smoothing",
    "summarise": "metrics",
    "train": "training",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'policy_inertia' has no attribute '{name}'")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
