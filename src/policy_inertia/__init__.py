"""Smooth discrete-action policies: nested policy iteration, its baselines, and their measurement.

The names below are the public interface; everything else is free to change. They are imported when
first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policy_inertia.actions.bucket import Limit as Limit
    from policy_inertia.calibration.filter_sweep import calibrate_filter as calibrate_filter
    from policy_inertia.calibration.sweep import calibrate as calibrate
    from policy_inertia.envs.registry import TASKS as TASKS
    from policy_inertia.errors import InputError as InputError
    from policy_inertia.evaluation.evaluate import evaluate as evaluate
    from policy_inertia.interop.c_out import export_c as export_c
    from policy_inertia.interop.hub import pull as pull
    from policy_inertia.interop.hub import push as push
    from policy_inertia.interop.measure import measure as measure
    from policy_inertia.interop.model_card import model_card as model_card
    from policy_inertia.interop.numpy_out import export_numpy as export_numpy
    from policy_inertia.interop.onnx_out import export as export
    from policy_inertia.interop.oscillation_callback import (
        OscillationCallback as OscillationCallback,
    )
    from policy_inertia.interop.record_oscillation import RecordOscillation as RecordOscillation
    from policy_inertia.methods import METHODS as METHODS
    from policy_inertia.metrics.episodes import oscillation_ratio as oscillation_ratio
    from policy_inertia.metrics.measures import summarise as summarise
    from policy_inertia.policies.action_filters.butterworth import Butterworth as Butterworth
    from policy_inertia.policies.action_filters.dead_band import DeadBand as DeadBand
    from policy_inertia.policies.action_filters.exponential import Exponential as Exponential
    from policy_inertia.policies.action_filters.movement_limit import MovementLimit as MovementLimit
    from policy_inertia.policies.action_filters.one_euro import OneEuro as OneEuro
    from policy_inertia.policies.action_filters.rate_limit import RateLimit as RateLimit
    from policy_inertia.policies.continuous import ContinuousCore as ContinuousCore
    from policy_inertia.policies.core_loaders import load_core as load_core
    from policy_inertia.policies.cores import Core as Core
    from policy_inertia.policies.policy import Policy as Policy
    from policy_inertia.run_settings import RunConfig as RunConfig
    from policy_inertia.run_settings import settings as settings
    from policy_inertia.smoothing.smooth import smooth as smooth
    from policy_inertia.smoothing.smooth_actions import SmoothActions as SmoothActions
    from policy_inertia.study.run.scheduler import compare as compare
    from policy_inertia.training.loop import train as train
    from policy_inertia.tuning.tune import tune as tune

_HOME = {
    "Butterworth": "policies.action_filters.butterworth",
    "ContinuousCore": "policies.continuous",
    "Core": "policies.cores",
    "DeadBand": "policies.action_filters.dead_band",
    "Exponential": "policies.action_filters.exponential",
    "Limit": "actions.bucket",
    "METHODS": "methods",
    "MovementLimit": "policies.action_filters.movement_limit",
    "OneEuro": "policies.action_filters.one_euro",
    "OscillationCallback": "interop.oscillation_callback",
    "RateLimit": "policies.action_filters.rate_limit",
    "RecordOscillation": "interop.record_oscillation",
    "TASKS": "envs.registry",
    "InputError": "errors",
    "Policy": "policies.policy",
    "RunConfig": "run_settings",
    "SmoothActions": "smoothing.smooth_actions",
    "calibrate": "calibration.sweep",
    "calibrate_filter": "calibration.filter_sweep",
    "compare": "study.run.scheduler",
    "evaluate": "evaluation.evaluate",
    "export": "interop.onnx_out",
    "export_c": "interop.c_out",
    "export_numpy": "interop.numpy_out",
    "load_core": "policies.core_loaders",
    "measure": "interop.measure",
    "model_card": "interop.model_card",
    "oscillation_ratio": "metrics.episodes",
    "pull": "interop.hub",
    "push": "interop.hub",
    "settings": "run_settings",
    "smooth": "smoothing.smooth",
    "summarise": "metrics.measures",
    "train": "training.loop",
    "tune": "tuning.tune",
}
_NEED_LOADERS = ("Policy", "load_core")  # importing interop registers the loaders of cores
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'policy_inertia' has no attribute '{name}'")
    if name in _NEED_LOADERS:
        import_module(".interop", __name__)
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
