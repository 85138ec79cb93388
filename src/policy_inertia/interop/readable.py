"""What `load_core` reads: the table on the page about other people's policies, one row each.

A test compares the page with `readable_table`. A loader that learns a new kind adds a row here.
"""

from __future__ import annotations

from typing import NamedTuple


class Readable(NamedTuple):
    """One kind of policy.

    Attributes:
        source: What the user has.
        reading: How it is read.
        exported: Whether it can be exported, alone or made smooth; empty for yes.
    """

    source: str
    reading: str
    exported: str = ""


READABLE = (
    Readable(
        "a model of Stable-Baselines3 or sb3-contrib: DQN, QR-DQN, PPO or A2C",
        "A standard MLP or Nature CNN policy becomes layers that NumPy runs, and is compared with "
        "the model. Any other policy is called through torch",
        "standard policies",
    ),
    Readable(
        "a PPO or A2C with MultiDiscrete or MultiBinary actions",
        "the same; every head has scores, thresholds and, with `per_head`, limits of its own",
        "standard policies; not to C",
    ),
    Readable(
        "a MaskablePPO of sb3-contrib, with Discrete, MultiDiscrete or MultiBinary actions",
        "the same; it chooses among the actions that the env's `action_masks()` allow, in each "
        "head",
        "standard policies; not to C",
    ),
    Readable(
        "the `.zip` of one of these, or the folder in which RL Zoo keeps it",
        "the same layers, from the weights in the file. In a folder, `best_model.zip` comes first, "
        "then `ENV.zip`",
    ),
    Readable(
        "a model that was trained inside a `VecNormalize`",
        "its statistics become the first layer: those of the live model, of `vecnormalize.pkl` in "
        "an RL Zoo folder or beside a zip that needs it, or of `normalise=`",
    ),
    Readable(
        "a model over Dict observations (`MultiInputPolicy`)",
        "the entries one behind the other, in the env's own order, images through the Nature CNN. "
        "`predict` takes the Dict itself; statistics of a `VecNormalize` are by key",
        "yes; in ONNX each key is an input",
    ),
    Readable(
        "a model that was trained in a `VecFrameStack`",
        "the env gives single observations, and the core remembers the others. A live model and an "
        "RL Zoo folder say how many; for a zip, give `frame_stack=`",
    ),
    Readable(
        "RecurrentPPO of sb3-contrib, with Discrete actions",
        "the LSTM and the rest as layers. What it remembers is part of the policy's memory, so "
        "pass the state to `predict`, as for its own",
    ),
    Readable(
        "a live SBX model",
        "through JAX. Tried with SBX 0.28; our tests run it only if SBX is installed. Zips of SBX "
        "hold nothing but pickles and are refused",
        "no",
    ),
    Readable(
        "an `.onnx` file with one input",
        "through onnxruntime. What it returns is inferred from names, types and values; or give "
        "`output=` and, if there are several outputs, `output_name=`",
        "continuous actions, if it is a perceptron",
    ),
    Readable(
        "a function of one observation or of a batch, or an object with `predict`",
        "tried with two or three observations",
        "no",
    ),
    Readable("a run folder, policy file or `Policy` of ours", "for a nested method, its core"),
)
"""The rows of the table, in its order."""


def readable_table() -> str:
    """The table as Markdown."""
    lines = ["| You have | How it is read | Exported |", "|---|---|---|"]
    lines += [f"| {row.source} | {row.reading} | {row.exported or 'yes'} |" for row in READABLE]
    return "\n".join(lines)
