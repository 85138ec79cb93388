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

from policy_inertia.errors import InputError
from policy_inertia.files import make_folder, write_file
from policy_inertia.interop.c_box import box_step
from policy_inertia.interop.c_code import CodeBuilder, comment_text, fill
from policy_inertia.interop.c_discrete import discrete_step
from policy_inertia.interop.c_layers import refuse_layers
from policy_inertia.interop.description import PolicyDescription, describe, exported
from policy_inertia.machine import versions
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.cores import Core
from policy_inertia.policies.policy import Policy

_FILE = """
/* A policy with memory, written by policy-inertia $version.
 *
 * $about
 *
 * policy_state state;
 * policy_init(&state);      once: settings and memory
 * policy_reset(&state);     at the start of every further episode; it keeps the settings
 * $usage
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


@dataclass(frozen=True)
class ExportedC:
    """The C file that was written."""

    path: Path
    n_weights: int
    """How many numbers it holds."""

    def __str__(self) -> str:
        return f"{self.path}: C99, {self.n_weights:,} numbers; compile it with -lm"


def export_c(policy: Policy | Core | ContinuousCore, path: str | os.PathLike[str]) -> ExportedC:
    """Write a policy, or a core whose network is known, as one C99 file.

    The functions and the struct are described at the top of the file. Actions are those of
    `predict(..., deterministic=True)`, up to ties within float rounding; continuous ones are the
    same within float rounding.

    Args:
        policy: What to export; its networks must be perceptrons.
        path: Where to write it; must end in .c.

    Raises:
        InputError: The policy cannot be written as C.
    """
    path = Path(path)
    if path.suffix != ".c":
        raise InputError(f"{path} ends in '{path.suffix}': a C file ends in .c")
    text, n_weights = c_source(describe(exported(policy)))
    make_folder(path.parent)
    write_file(path, text.encode("ascii"))
    return ExportedC(path, n_weights)


def c_source(policy: PolicyDescription) -> tuple[str, int]:
    """The policy as the text of a C file, and how many numbers the file holds.

    Raises:
        InputError: A part of the policy cannot be written as C.
    """
    if policy.masked:
        raise InputError(
            "the policy chooses among masked actions, which C files do not know: export it as ONNX "
            "or for NumPy"
        )
    if policy.controller is not None and policy.controller.costs is not None:
        raise InputError(
            "the controller learned with costs of switching, which C files do not know: export it "
            "as ONNX or for NumPy"
        )
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
        usage=code.usage,
        fields="\n".join(f"    {f.declaration}; /* {f.about} */" for f in code.fields),
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
        [f.assignment for f in code.fields if f.lasts == lasts] for lasts in (True, False)
    )
    template = _MEMORY if settings else _MEMORY.replace("    $init\n", "")
    code.add_function(template, init="\n    ".join(settings), reset="\n    ".join(memory))


STEPS: dict[str, Callable[[CodeBuilder, PolicyDescription], None]] = {
    "discrete": discrete_step,
    "box": box_step,
}
"""How a policy acts, by the kind of its actions: macros, declarations and functions."""
