"""Run a policy that `policy_inertia.export_numpy` wrote. Copy this file: it needs NumPy alone.

policy = Policy("policy.npz")
action = policy.act(observation)  # one observation; a dial also takes a price: act(obs, 0.1)
action = policy.act(observation, mask=mask)  # a policy that was trained with action masks
policy.reset()                    # at the start of every further episode
policy.reset(action)              # at a hand-over, continuous actions only: start from this action
"""

import json
from typing import Any

import numpy as np

NAMES = """add subtract multiply divide floor_divide remainder negative absolute maximum minimum exp
expm1 log sqrt tanh logaddexp ceil isnan equal less less_equal greater greater_equal logical_and
logical_or logical_not where matmul argmax sum take reshape expand_dims squeeze shape
broadcast_to"""
OPERATIONS: dict[str, Any] = {name: getattr(np, name) for name in NAMES.split()} | {
    "join": lambda axis, *parts: np.concatenate(parts, axis),
    "as_float": lambda x: x.astype(np.float32),
    "as_double": lambda x: x.astype(np.float64),
    "log_sum_exp": lambda x: np.logaddexp.reduce(x, 1, keepdims=True),
}


class Policy:
    def __init__(self, path: str) -> None:
        self.arrays = dict(np.load(path))
        self.about = json.loads(str(self.arrays.pop("about")))
        self.first = {name: np.array([first]) for name, first in self.about["memory"].items()}
        self.state = self.first

    def reset(self, action: Any = None) -> None:
        state = self.state if action is None else self.first
        last = self.first["previous_action"] if action is None else np.array([action])
        self.state = {**state, "previous_action": last}

    def act(self, observation: Any, price: float | None = None, mask: Any = None) -> Any:
        obs = np.array([observation], self.about["observation"])
        values = {**self.arrays, **self.state, "observation": obs}
        if price is not None:
            values["lambda"] = np.array([price], np.float32)
        if mask is not None:
            values["action_masks"] = np.array([mask], bool)
        for output, operation, *inputs in self.about["steps"]:
            given = [values[x] if isinstance(x, str) else x for x in inputs]
            values[output] = OPERATIONS[operation](*given)
        self.state = {name: values[f"next_{name}"] for name in self.state}
        action = self.state["previous_action"][0] + self.about["first_action"]
        return action if action.ndim or action.dtype.kind != "i" else int(action)
