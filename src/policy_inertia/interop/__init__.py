"""Other people's tools: Stable-Baselines3 and ONNX in; ONNX, C, NumPy and model cards out.

Importing this package registers the loaders of `load_core`, one row for each kind of policy.
"""

from policy_inertia.interop import callables, onnx_in, own_policies, sb3, sb3_zip
from policy_inertia.policies.core_loaders import register_loader

# the last row is tried first; callables are the most general
for _kind in (callables, onnx_in, sb3_zip, sb3, own_policies):
    register_loader(_kind.LOADER)
