"""What a file may say about an env: an id that is registered, and arguments that are plain data."""

from __future__ import annotations

import re
import sys
from typing import Any

from policy_inertia.errors import TrustError
from policy_inertia.origin import FileText, file_texts, trusted

WORD = re.compile(r"[A-Za-z0-9_+\- ]{0,100}")
"""A text that is neither a path nor the name of a module or function inside another."""


def allowed(env: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return an env and its arguments as ordinary strings, if a file may have chosen them.

    What the user gave is returned as it is. An id from a file must be registered already: nothing
    is imported to look for it. Texts from a file in the arguments must be words, since an env may
    open or import what any other text names.

    Args:
        env: A Gymnasium id, or a function that makes an env.
        kwargs: The env's arguments.

    Raises:
        TrustError: The id or an argument comes from a file and could run code.
    """
    for name, text in file_texts(kwargs):
        if not WORD.fullmatch(text):
            raise _refused(
                text,
                f"{text.file} gives the environment {name}={text[:200]!r}, which may be a path or "
                "a module",
                "give env_kwargs yourself",
            )
    if isinstance(env, FileText):
        env = _registered(env)
    return env, trusted(kwargs) if any(file_texts(kwargs)) else kwargs


def _registered(env: FileText) -> str:
    """The id without its module, which must have been imported by now."""
    *modules, name = env.split(":")
    if len(modules) > 1 or not set(modules) <= sys.modules.keys():
        raise _refused(
            env,
            f"{env.file} names the environment {env[:200]!r}, which would import the module "
            f"{':'.join(modules)[:200]!r}",
            "name the environment yourself",
        )
    return name


def _refused(text: FileText, refusal: str, remedy: str) -> TrustError:
    if text.trusting:
        remedy += f", or, if you trust the file, load it with {text.trusting}"
    return TrustError(refusal, remedy)
