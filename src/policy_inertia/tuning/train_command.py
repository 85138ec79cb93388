"""The command line that trains a run again."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import Any

from policy_inertia.run_settings import RunConfig, settings
from policy_inertia.tuning.search_spaces import is_config

WITHOUT_PREFIX = ("config",)
"""Tables whose settings are flags by their own names."""
ASSIGNED = ("env_kwargs", "eval_env_kwargs")
"""Tables that are written as NAME=VALUE."""


def train_command(config: RunConfig, preset: str = "default") -> str:
    """Return `policy-inertia train ...` with a flag for each setting that the preset does not give.

    It can be pasted into a shell, and trains the same policy bit for bit.
    """
    words = ["policy-inertia", "train", config.method, config.env]
    words += [] if preset == "default" else ["--preset", preset]
    return shlex.join(words + _flags(config, settings(config.method, config.env, preset)))


def _flags(config: Any, default: Any, before: str = "") -> list[str]:
    words: list[str] = []
    for field in dataclasses.fields(config):
        value, usual = getattr(config, field.name), getattr(default, field.name)
        flag = f"--{before}{field.name.replace('_', '-')}"
        if is_config(value):
            inner = "" if field.name in WITHOUT_PREFIX else f"{field.name.replace('_', '-')}."
            words += _flags(value, usual, before + inner)
        elif value == usual:
            continue
        elif field.name in ASSIGNED:
            words += [flag, *_assignments(value)]
        elif isinstance(value, bool):
            words.append(flag if value else f"--{before}no-{field.name.replace('_', '-')}")
        else:
            items = value if isinstance(value, tuple) else (value,)
            words += [flag, *map(str, items)]
    return words


def _assignments(table: dict[str, Any], before: str = "") -> list[str]:
    words: list[str] = []
    for name, value in table.items():
        if isinstance(value, dict) and value:
            words += _assignments(value, f"{before}{name}.")
        else:
            text = value if isinstance(value, str) and not _is_json(value) else json.dumps(value)
            words.append(f"{before}{name}={text}")
    return words


def _is_json(text: str) -> bool:
    """Whether the command line would read a text as another value, such as 1 or true."""
    try:
        json.loads(text.lower())
    except ValueError:
        return False
    return True
