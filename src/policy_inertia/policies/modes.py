"""The modes of a dial: ways to act by the same critics."""

from __future__ import annotations

from typing import Any

from policy_inertia.errors import InputError

Policy = Any  # policies/policy.py, which imports this file


def in_mode(policy: Policy, name: str) -> Policy:
    """The policy in the mode of this name; the policy itself for the empty name.

    Raises:
        InputError: The policy has no such mode.
    """
    if name in ("", policy.mode):
        return policy
    for mode in policy.modes():
        if mode.mode == name:
            return mode
    raise InputError(
        f"the calibration has the mode '{name}', which {policy.method} does not know: calibrate "
        "the policy again"
    )
