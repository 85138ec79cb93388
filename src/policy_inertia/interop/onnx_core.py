"""The network of a core as ONNX nodes: its output, its features, and what it remembers."""

from __future__ import annotations

from policy_inertia.interop.description import PolicyDescription
from policy_inertia.interop.onnx_form import FEATURES, OBSERVATION
from policy_inertia.interop.onnx_graph import GraphBuilder
from policy_inertia.interop.onnx_layers import MemoryNodes, add_network, add_remembering


def add_core(graph: GraphBuilder, policy: PolicyDescription, start: str) -> MemoryNodes:
    """What the core's network returns, and what it remembers from now on."""
    features, memory = add_remembering(graph, policy.core[:-1], OBSERVATION, start)
    if policy.controller is not None and policy.controller.on_features:
        graph.add("Identity", features, output=FEATURES)
    return add_network(graph, policy.core[-1:], features), memory
