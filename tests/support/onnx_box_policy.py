"""Exported ONNX files with continuous actions, run step by step."""

from pathlib import Path

import numpy as np

from policy_inertia.interop.onnx_in import session
from policy_inertia.policies.memory import PREVIOUS_ACTION


class OnnxBoxPolicy:
    """A file in onnxruntime with its memory."""

    def __init__(self, path: Path) -> None:
        self.session = session(path)
        self.inputs = {i.name: i for i in self.session.get_inputs()}
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.reset()

    def reset(self) -> None:
        types = {"tensor(float)": np.float32, "tensor(double)": np.float64}
        self.memory: dict[str, np.ndarray] = {
            name: np.full((1, *i.shape[1:]), np.nan, types[i.type])
            for name, i in self.inputs.items()
            if name != "observation"
        }

    def act(self, obs: np.ndarray) -> np.ndarray:
        results = self.session.run(self.outputs, {"observation": obs[None], **self.memory})
        values = dict(zip(self.outputs, results, strict=True))
        self.memory = {
            name: values[f"next_{name}"] for name in self.memory if "_action" not in name
        }
        self.memory[PREVIOUS_ACTION] = values["action"]
        return values["action"][0]
