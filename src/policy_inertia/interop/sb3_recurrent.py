"""The LSTM of sb3-contrib's RecurrentPPO, from its weights."""

from __future__ import annotations

import numpy as np

from policy_inertia.errors import InputError
from policy_inertia.networks.memory_layers import Lstm

ACTOR = "lstm_actor."
UNUSED = ("lstm_critic.", "critic.")
"""Prefixes of weights that acting does not need."""
MODULE = "sb3_contrib.common.recurrent.policies"
ARGUMENTS = {"lstm_hidden_size", "n_lstm_layers", "shared_lstm", "enable_critic_lstm"}
"""Arguments of the policy that its weights show, or that change nothing when it acts."""


def is_recurrent(weights: dict[str, np.ndarray]) -> bool:
    """Whether these are the weights of a recurrent policy."""
    return any(key.startswith(ACTOR) for key in weights)


def read_lstm(weights: dict[str, np.ndarray], name: str) -> list[Lstm]:
    """The layers of the actor's LSTM; none if there is no LSTM.

    Raises:
        InputError: It is not a plain LSTM of PyTorch.
    """
    own = {k.removeprefix(ACTOR): w for k, w in weights.items() if k.startswith(ACTOR)}
    layers = []
    for i in range(len(own) // 4):
        names = [f"{part}_l{i}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        parts = [own.pop(part) for part in names if part in own]
        if len(parts) != 4 or any(part.dtype.kind != "f" for part in parts):
            break
        w_x, w_h, b_x, b_h = parts
        bias = b_x + b_h if b_x.shape == b_h.shape else np.zeros(0)
        layer = Lstm(np.ascontiguousarray(w_x.T), np.ascontiguousarray(w_h.T), bias)
        if layer.output_shape(w_x.shape[1:]) is None:
            own = {"weights of other shapes": w_x}
            break
        layers.append(layer)
    if own:
        raise InputError(
            f"{name} has an LSTM with {next(iter(own))}: expected the plain LSTM of RecurrentPPO, "
            "so train it without lstm_kwargs"
        )
    return layers
