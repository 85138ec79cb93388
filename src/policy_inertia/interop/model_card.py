"""A folder for the Hugging Face Hub: a card, figures and the policy, as plain files; no network."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from policy_inertia.envs.vector import EnvLike
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.interop.onnx_out import export
from policy_inertia.policies.policy import Policy
from policy_inertia.storage import cannot_write, write_file, write_json

RL = "reinforcement-learning"  # the Hub's name of the field
SHOWN = {  # figures of an evaluation that the card shows, in its words
    "return": "Return",
    "return_std": "Standard deviation of the return",
    "oscillation_ratio": "Oscillation ratio (switches per step)",
    "crash_rate": "Share of episodes that end in a crash",
    "length": "Steps of an episode",
}

USE = """\
```python
import policy_inertia as pi

policy = pi.Policy.load("policy.safetensors")
action, state = policy.predict(observation, state)  # the state is the previous action
```
"""
USE_ONNX = """
`policy.onnx` is the same policy for any ONNX runtime: inputs `observation` and `previous_action`
(-1 at the start of an episode), outputs `action`, `probabilities` and `inertia`.
"""


def model_card(
    policy: Policy,
    folder: str | os.PathLike[str],
    env: EnvLike | None = None,
    episodes: int = 20,
    seed: int = 0,
) -> list[Path]:
    """Write README.md with the Hub's front matter, results.json, and the policy's files.

    The figures are measured now, in `episodes` episodes with the most probable actions, on `env`
    or the task that the policy was trained on. `policy.onnx` is written where onnx is installed
    and the policy can be one. Returns the files.
    """
    folder = Path(folder)
    if (folder / "run.json").exists():
        raise InputError(
            f"{folder} is a run's own folder: choose another one for the card, so that nothing in "
            "it is overwritten"
        )
    task = env if env is not None else policy.task
    if not task:
        raise InputError("this policy does not say on which task it was trained: give env")
    kwargs = policy.env_kwargs if env is None else {}
    figures = evaluate(policy, task, episodes, seed, True, kwargs).summary()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    policy.save(folder / "policy.safetensors")
    files = [folder / "policy.safetensors"]
    if policy.repeats == (1,) and importlib.util.find_spec("onnx") is not None:
        files.append(export(policy, folder / "policy.onnx").path)
    name = policy.task or (task if isinstance(task, str) else "a task")
    write_json(
        folder / "results.json",
        {
            "mean_reward": figures["return"],
            "std_reward": figures["return_std"],
            "is_deterministic": True,
            "n_eval_episodes": episodes,
            "seed": seed,
            **{k: v for k, v in figures.items() if isinstance(v, int | float)},
        },
    )
    write_file(folder / "README.md", _readme(policy, name, figures, len(files) > 1).encode())
    return [folder / "README.md", folder / "results.json", *files]


def _readme(policy: Policy, task: str, figures: dict[str, Any], onnx: bool) -> str:
    title = f"{policy.method} on {task}"
    reward = f"{figures['return']:.2f} +/- {figures['return_std']:.2f}"
    front: dict[str, Any] = {
        "library_name": "policy-inertia",
        "tags": [task, "deep-reinforcement-learning", RL, "policy-inertia"],
        "model-index": [
            {
                "name": policy.method,
                "results": [
                    {
                        "task": {"type": RL, "name": RL},
                        "dataset": {"name": task, "type": task},
                        "metrics": [
                            _metric("mean_reward", reward),
                            _metric("oscillation_ratio", f"{figures['oscillation_ratio']:.3f}"),
                        ],
                    }
                ],
            }
        ],
    }
    # JSON is YAML: nothing needs a library, and nothing in a name can break out of its quotes
    head = "\n".join(f"{key}: {json.dumps(value)}" for key, value in front.items())
    rows = [
        f"| {words} | {figures[key]:.3g} |"
        for key, words in SHOWN.items()
        if isinstance(figures.get(key), int | float)
    ]
    controller = (
        "It mixes its core with repeating the last action, by a learned inertia."
        if policy.nested
        else ""
    )
    if policy.hysteresis is not None:
        tau = policy.hysteresis
        controller += f" It keeps its last action unless another is better by {tau:g}."
    return f"""---
{head}
---

# {title}

A policy with discrete actions for `{task}`, trained with `{policy.method}` of policy-inertia.
{controller}

| {figures["episodes"]} episodes, most probable actions | |
|---|---|
{chr(10).join(rows)}

## Use

{USE}{USE_ONNX if onnx else ""}"""


def _metric(kind: str, value: str) -> dict[str, Any]:
    return {"type": kind, "name": kind, "value": value, "verified": False}
