"""The kinds of actions that can be exported, one row each."""

from __future__ import annotations

from policy_inertia.errors import InputError
from policy_inertia.interop import onnx_box, onnx_discrete, onnx_heads
from policy_inertia.interop.description import PolicyDescription
from policy_inertia.interop.onnx_form import Form

FORMS: dict[str, Form] = {
    "discrete": onnx_discrete.FORM,
    "multi_discrete": onnx_heads.FORM,
    "box": onnx_box.FORM,
}
"""By the kind of the actions."""


def form_of(policy: PolicyDescription) -> Form:
    """How a policy with its kind of actions becomes a graph.

    Raises:
        InputError: Nobody has written it.
    """
    kind = policy.spaces.actions.to_dict()["kind"]
    if kind not in FORMS:
        raise InputError(
            f"actions of kind '{kind}' cannot be exported: expected {' or '.join(FORMS)}"
        )
    return FORMS[kind]
