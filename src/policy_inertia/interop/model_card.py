"""Write a folder for the Hugging Face Hub: a model card, figures and the policy, as plain files.

Nothing here uses the network.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy_inertia.actions.box import Box
from policy_inertia.actions.discrete import Discrete
from policy_inertia.envs.making import EnvLike, name_of
from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.files import make_folder, write_file
from policy_inertia.interop.onnx_out import export
from policy_inertia.metrics.measures import MEASURES, RETURN, select_measures
from policy_inertia.policies.action_filters import rule_table
from policy_inertia.policies.action_filters.movement_limit import MovementLimit
from policy_inertia.policies.continuous import ContinuousCore
from policy_inertia.policies.policy import Policy
from policy_inertia.storage import finite, write_json

FIELD = "reinforcement-learning"  # the Hub's name of the field

USE = """\
```python
import policy_inertia as pi

policy = pi.{reader}.load("policy.safetensors")
state = None  # at the start of an episode
action, state = policy.predict(observation, state)
```
"""
USE_ONNX = """
`policy.onnx` is the same policy for any ONNX runtime: inputs `observation` and `previous_action`
(-1 at the start of an episode), outputs `action`, `probabilities` and `inertia`.
"""
USE_ONNX_TOKENS = """
Its limit adds the input `tokens` and the output `next_tokens`, in millionths of a token. Start with
{full}, and give the last `next_tokens` back.
"""
USE_ONNX_BOX = """
`policy.onnx` is the same policy for any ONNX runtime: inputs `observation` and `previous_action`
(NaN at the start of an episode), output `action`. Give the last `next_...` output back to each
other input; at the start of an episode any number will do.
"""


def model_card(
    policy: Policy | ContinuousCore,
    folder: str | os.PathLike[str],
    env: EnvLike | None = None,
    episodes: int = 20,
    seed: int = 0,
) -> list[Path]:
    """Evaluate a policy, and write a folder for the Hugging Face Hub.

    The folder holds README.md with the Hub's front matter, results.json, policy.safetensors, and
    policy.onnx if onnx is installed and the policy can be exported.

    Args:
        policy: The policy to publish.
        folder: Where to write; `Policy.load` reads it.
        env: Where to evaluate; by default the task that the policy was trained on.
        episodes: Number of episodes, with the most probable actions.
        seed: Seed of the episodes.

    Returns:
        The files.

    Raises:
        InputError: The folder is a run folder or cannot be written, or no task is known.
    """
    folder = Path(folder)
    if not isinstance(policy, Policy | ContinuousCore):
        raise InputError(
            f"a model card is for a policy, and this is {policy}: save what smooth returns, and "
            "load that"
        )
    if (folder / "run.json").exists():
        raise InputError(
            f"{folder} is a run folder: choose another one for the card, so that nothing in it is "
            "overwritten"
        )
    task = env if env is not None else policy.task
    if not task:
        raise InputError("this policy does not say on which task it was trained: give env")
    kwargs = policy.env_kwargs if env is None else {}
    figures = evaluate(policy, task, episodes, seed, True, kwargs).summary()
    make_folder(folder)
    policy.save(folder / "policy.safetensors")
    files = [folder / "policy.safetensors"]
    if _exportable(policy) and importlib.util.find_spec("onnx") is not None:
        files.append(export(policy, folder / "policy.onnx").path)
    write_json(folder / "results.json", _results(figures, episodes, seed))
    # a name from a file or of a function is not part of the card's Markdown
    name = re.sub(r"[^\w/:.+-]+", "_", policy.task or name_of(task))
    card = _readme(policy, name, figures, onnx=len(files) > 1)
    write_file(folder / "README.md", card.encode())
    return [folder / "README.md", folder / "results.json", *files]


def _exportable(policy: Policy | ContinuousCore) -> bool:
    if isinstance(policy, ContinuousCore):
        return policy.layers is not None
    return policy.repeats == (1,)


def _results(figures: dict[str, Any], episodes: int, seed: int) -> dict[str, Any]:
    """The figures under RL Zoo's names, followed by every known measure under ours."""
    measures = {name: finite(figures[name]) for name in MEASURES if figures[name] is not None}
    return {
        "mean_reward": finite(figures["return"]),
        "std_reward": finite(figures["return_std"]),
        "is_deterministic": True,
        "n_eval_episodes": episodes,
        "seed": seed,
        **measures,
    }


def _readme(policy: Policy | ContinuousCore, task: str, figures: dict[str, Any], onnx: bool) -> str:
    actions: Any = policy.spaces.actions
    kind = KINDS[type(policy), actions.kind]
    rows = [
        f"| {m.title[:1].upper()}{m.title[1:]} | {m.show(figures[m.name])} |"
        for m in select_measures([figures])
    ]
    return f"""---
{_front_matter(policy, task, figures)}
---

# {policy.method} on {task}

A policy with {kind.actions} actions for `{task}`, {kind.origin.format(policy.method)}.
{kind.description(policy)}

| {figures["episodes"]} episodes, most probable actions | |
|---|---|
{chr(10).join(rows)}

## Use

{USE.format(reader=kind.reader)}{kind.use_onnx(policy) if onnx else ""}"""


def _use_onnx(policy: Policy) -> str:
    if policy.limit is None:
        return USE_ONNX
    return USE_ONNX + USE_ONNX_TOKENS.format(full=policy.limit.burst_units)


def _front_matter(policy: Policy | ContinuousCore, task: str, figures: dict[str, Any]) -> str:
    """The Hub's metadata as YAML.

    Every value is written as JSON, which is YAML too: no name can break out of its quotes.
    """
    mean_reward = f"{figures['return']:.2f} +/- {figures['return_std']:.2f}"
    metrics = [_metric("mean_reward", mean_reward)] + [
        _metric(measure.name, measure.show(figures[measure.name]))
        for measure in select_measures([figures], "headline")
        if measure is not RETURN
    ]
    results = {
        "task": {"type": FIELD, "name": FIELD},
        "dataset": {"name": task, "type": task},
        "metrics": metrics,
    }
    front = {
        "library_name": "policy-inertia",
        "tags": [task, "deep-reinforcement-learning", FIELD, "policy-inertia"],
        "model-index": [{"name": policy.method, "results": [results]}],
    }
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in front.items())


def _metric(kind: str, value: str) -> dict[str, Any]:
    return {"type": kind, "name": kind, "value": value, "verified": False}


def _description(policy: Policy) -> str:
    """How the policy becomes smooth, in sentences; empty if it does nothing for it."""
    sentences = []
    if policy.price is not None:
        sentences.append(f"Its price of switching is {policy.price:g}: it {policy.mode}.")
    elif policy.nested:
        sentences.append("A controller decides at each step whether to repeat the last action.")
    if policy.hysteresis is not None:
        sentences.append(
            f"It repeats its last action unless another one is better by {policy.hysteresis:g}."
        )
    if policy.limit is not None and policy.spaces.actions.finite:
        sentences.append(
            f"In every n steps of an episode it makes at most {policy.limit.burst:g} + "
            f"{policy.limit.rate:g} n switches, always."
        )
    return " ".join(sentences)


def _box_description(policy: Policy) -> str:
    """How a policy with Box actions that we trained becomes smooth, in sentences."""
    return " ".join(text for text in (_description(policy), *_bound(policy.limit)) if text)


def _bound(limit: MovementLimit | None) -> list[str]:
    """What a limit on movement keeps, as a sentence; nothing without one."""
    if limit is None:
        return []
    return [
        f"In every n steps of an episode its actions move by at most {limit.burst:g} + "
        f"{limit.rate:g} n of their range, always."
    ]


def _filters(policy: ContinuousCore) -> str:
    """The filter and the limit, in sentences; empty without them."""
    sentences = []
    if policy.rule is not None:
        values = rule_table.settings_of(policy.rule)
        settings = ", ".join(f"{name} {value:g}" for name, value in values.items())
        sentences.append(f"Its actions go through the filter `{policy.rule.name}` ({settings}).")
    return " ".join(sentences + _bound(policy.limit))


@dataclass(frozen=True)
class Kind:
    """What a card says of policies with one kind of actions."""

    actions: str
    origin: str
    """Where such a policy comes from; {} is its method."""
    reader: str
    """The class that loads the policy."""
    description: Callable[[Any], str]
    use_onnx: Callable[[Any], str]


KINDS: dict[tuple[type, str], Kind] = {
    (Policy, Discrete.kind): Kind(
        "discrete", "trained with `{}` of policy-inertia", "Policy", _description, _use_onnx
    ),
    (Policy, Box.kind): Kind(
        "continuous",
        "trained with `{}` of policy-inertia",
        "Policy",
        _box_description,
        lambda policy: USE_ONNX_BOX,
    ),
    (ContinuousCore, Box.kind): Kind(
        "continuous",
        "around the policy `{}`",
        "ContinuousCore",
        _filters,
        lambda policy: USE_ONNX_BOX,
    ),
}
"""By the class of the policy and the kind of its actions."""
