"""Hold exported files against their policy over whole episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime

from policy_inertia import Policy, export, export_numpy
from policy_inertia.interop.numpy_runtime import Policy as NumpyPolicy


def switches_in_files(
    policy: Policy, env: gym.Env, folder: Path, price: float | None = None
) -> int:
    """Run three episodes in onnxruntime and NumPy beside the policy, and compare every action.

    The env is asked for action masks if the policy knows them.

    Args:
        policy: The policy, whose actions are counted from 0.
        env: The env.
        folder: Where the files are written.
        price: The price of a dial, which is then an input of the ONNX file.

    Returns:
        How many actions, or heads of actions, were switched.
    """
    export(policy, folder / "policy.onnx", dial=price is not None)
    export_numpy(policy, folder / "policy.npz")
    session = onnxruntime.InferenceSession(folder / "policy.onnx")
    outputs = [o.name for o in session.get_outputs()]
    in_numpy, switches = NumpyPolicy(str(folder / "policy.npz")), 0
    given = {} if price is None else {"lambda": np.array([price], np.float32)}
    for seed in range(3):
        obs, _ = env.reset(seed=seed)
        state: Any = None
        done = False
        # any numbers but for the previous action: the start of an episode puts them back
        memory = {name: rows * 0 - 1 for name, rows in policy.memory.initial(1).items()}
        in_numpy.reset()
        while not done:
            mask = env.get_wrapper_attr("action_masks")() if policy.masked else None
            if mask is not None:
                given["action_masks"] = mask[None]
            action, state = policy.predict(obs, state, None, True, action_masks=mask)
            values = session.run(outputs, {"observation": obs[None], **memory, **given})
            results = dict(zip(outputs, values, strict=True))
            np.testing.assert_array_equal(results["action"][0], action)
            np.testing.assert_array_equal(in_numpy.act(obs, mask=mask), action)
            before = memory["previous_action"]
            switches += int(((before >= 0) & (before != action)).sum())
            memory = {
                name: results["action" if name == "previous_action" else f"next_{name}"]
                for name in memory
            }
            obs, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
    return switches
