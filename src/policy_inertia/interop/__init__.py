"""Other people's policies and tools: cores in, ONNX out, smoothing inside an env, model cards."""

from .cards import model_card
from .cores import Core, load_core
from .onnx import Exported, export
from .smooth_actions import SmoothActions

__all__ = ["Core", "Exported", "SmoothActions", "export", "load_core", "model_card"]
