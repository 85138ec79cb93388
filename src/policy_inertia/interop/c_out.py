"""Export a policy as one C99 file without dependencies, for robots and other small computers.

The file holds weights, core, controller and filters. It allocates nothing and has no global state:
the memory of a policy is a struct of the caller. The networks must be perceptrons.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policy_inertia.actions.bucket import Limit
from policy_inertia.algorithms.losses import LOG_ZERO
from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.interop.c_code import CodeBuilder, StateField, comment_text, fill, literal
from policy_inertia.interop.c_filters import add_filter
from policy_inertia.interop.c_layers import refuse_layers
from policy_inertia.interop.c_rules import Task, add_decision
from policy_inertia.interop.description import PolicyDescription, describe
from policy_inertia.machine import versions
from policy_inertia.policies.cores import Core
from policy_inertia.policies.memory import PREVIOUS_ACTION, Filter
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.token_bucket import TokenBucket

_FILE = """
/* A policy with memory, written by policy-inertia $version.
 *
 * $about
 *
 * policy_state state;
 * policy_init(&state);      once: settings and memory
 * policy_reset(&state);     at the start of every further episode; it keeps the settings
 * action = policy_act(&state, observation);
 *
 * Settings in policy_state may be changed at any time. C99 and its math library are enough.
 * To use it as a header, define POLICY_DECLARATIONS_ONLY before you include it.
 */

#ifndef POLICY_H
#define POLICY_H

#include <stdint.h>

$macros

typedef struct {
$fields
} policy_state;

void policy_init(policy_state *state);
void policy_reset(policy_state *state);

$declarations

#endif

#ifndef POLICY_DECLARATIONS_ONLY

#include <math.h>

#define POLICY_LOG_ZERO $log_zero

$code

#endif
"""

_MEMORY = """
void policy_reset(policy_state *state)
{
    $reset
}

void policy_init(policy_state *state)
{
    $init
    policy_reset(state);
}
"""

_DISCRETE_ACT = """
/* the most probable action, as the environment counts it */
int32_t policy_act(policy_state *state, $observation);
"""

_DISCRETE_SAMPLE = """
/* an action drawn by the policy; u is a random number of yours, uniform in [0, 1) */
int32_t policy_sample(policy_state *state, $observation, double u);
"""

_DISCRETE_STEP = """
/* u below 0: the most probable action */
static int32_t policy_step(policy_state *state, $observation, double u)
{
    float log_pi[$choices], scores[$choices];
    policy_decide(state, observation, log_pi, scores);
    int32_t action = u < 0.0 ? policy_best(log_pi, $choices) : policy_draw(log_pi, $choices, u);
    $filters
    state->previous_action = action;
    return action + POLICY_FIRST_ACTION;
}

int32_t policy_act(policy_state *state, $observation)
{
    return policy_step(state, observation, -1.0);
}

int32_t policy_sample(policy_state *state, $observation, double u)
{
    return policy_step(state, observation, u < 0.0 ? 0.0 : u);
}
"""


@dataclass(frozen=True)
class ExportedC:
    """The C file that was written."""

    path: Path
    n_weights: int
    """How many numbers it holds."""

    def __str__(self) -> str:
        return f"{self.path}: C99, {self.n_weights:,} numbers; compile it with -lm"


def export_c(policy: Policy | Core, path: str | os.PathLike[str]) -> ExportedC:
    """Write a policy, or a core whose network is known, as one C99 file.

    The functions and the struct are described at the top of the file. Actions are those of
    `predict(..., deterministic=True)`, up to ties within float rounding.

    Args:
        policy: What to export; its networks must be perceptrons.
        path: Where to write it; must end in .c.

    Raises:
        InputError: The policy cannot be written as C.
    """
    path = Path(path)
    if path.suffix != ".c":
        raise InputError(f"{path} ends in '{path.suffix}': a C file ends in .c")
    text, n_weights = c_source(describe(policy))
    make_folder(path.parent)
    write_file(path, text.encode("ascii"))
    return ExportedC(path, n_weights)


def c_source(policy: PolicyDescription) -> tuple[str, int]:
    """The policy as the text of a C file, and how many numbers the file holds.

    Raises:
        InputError: A part of the policy cannot be written as C.
    """
    is_state = policy.spaces.n_states is not None
    code = CodeBuilder("int32_t observation" if is_state else "const float *observation")
    refuse_layers(policy.core)  # a rule that does not ask the core has the same kind of networks
    code.macros["POLICY_OBSERVATION_SIZE"] = str(math.prod(policy.spaces.obs_shape))
    kind = policy.spaces.actions.to_dict()["kind"]
    if kind not in STEPS:
        raise InputError(f"actions of kind '{kind}' cannot be written as C: export it as ONNX")
    STEPS[kind](code, policy)
    _add_memory(code)
    text = fill(
        _FILE,
        version=comment_text(versions()["policy-inertia"]),
        about=comment_text(_about(policy)),
        macros="\n".join(f"#define {name} {value}" for name, value in code.macros.items()),
        declarations="\n\n".join(code.declarations),
        fields="\n".join(f"    {f.type} {f.name}; /* {f.about} */" for f in code.fields),
        log_zero=f"({literal(LOG_ZERO)})",
        code="\n\n".join([*code.arrays, *code.helpers.values(), *code.functions]),
    )
    return text + "\n", code.n_weights


def _about(policy: PolicyDescription) -> str:
    """One line about the policy; every text in it may come from a file."""
    about = policy.about
    return about.get("core") or f"{about.get('method')} on {about.get('task') or 'a task'}"


def _add_memory(code: CodeBuilder) -> None:
    """Add `policy_init` and `policy_reset`."""
    settings, memory = (
        [f"state->{f.name} = {f.initial};" for f in code.fields if f.lasts == lasts]
        for lasts in (True, False)
    )
    template = _MEMORY if settings else _MEMORY.replace("    $init\n", "")
    code.add_function(template, init="\n    ".join(settings), reset="\n    ".join(memory))


def _discrete_step(code: CodeBuilder, policy: PolicyDescription) -> None:
    """Add `policy_act` and `policy_sample` for a finite list of actions."""
    example = np.zeros((1, *policy.spaces.obs_shape), np.float32)
    choices = policy.core_output(example).shape[1]
    about = "counted from 0; -1 at the start of an episode"
    code.fields.append(StateField("int32_t", PREVIOUS_ACTION, "-1", about))
    code.macros["POLICY_ACTIONS"] = str(policy.spaces.discrete.n)
    code.macros["POLICY_FIRST_ACTION"] = f"({policy.spaces.discrete.first})"
    code.declare(_DISCRETE_ACT)
    code.declare(_DISCRETE_SAMPLE)
    code.use("best", "draw")
    add_decision(Task(code, policy, choices))
    statements = [add_filter(code, rule) for rule in _filters(policy)]
    template = _DISCRETE_STEP if statements else _DISCRETE_STEP.replace("    $filters\n", "")
    code.add_function(template, choices=choices, filters="\n    ".join(statements))


STEPS: dict[str, Callable[[CodeBuilder, PolicyDescription], None]] = {"discrete": _discrete_step}
"""How a policy acts, by the kind of its actions: macros, declarations and functions."""


def _filters(policy: PolicyDescription) -> tuple[Filter, ...]:
    """The policy's filters; one that can plan with limits has a bucket without a limit at least.

    A rate of one token per step is no limit, and the caller can set another.
    """
    controller = policy.controller
    plans = controller is not None and "largest_burst" in controller.numbers
    if not plans or any(isinstance(rule, TokenBucket) for rule in policy.filters):
        return policy.filters
    assert controller is not None
    free = Limit(1.0, controller.numbers["largest_burst"])
    return (*policy.filters, TokenBucket(free, policy.spaces.actions))
