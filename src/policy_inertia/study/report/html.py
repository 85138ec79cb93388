"""HTML from Python in which text is always escaped; nothing here knows what a report is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = {"meta", "img", "br", "input"}


class Html(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. `class_` is class and `aria_label` is aria-label; None and False are left out."""
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{escape(str(value))}"')
    start = f"<{' '.join(parts)}>"
    return Html(start if name in VOID else f"{start}{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """Children in a row: HTML as it is, lists piece by piece, anything else as escaped text."""
    texts = []
    for child in children:
        if child is None or isinstance(child, Html):
            texts.append(child or "")
        elif isinstance(child, Iterable) and not isinstance(child, str):
            texts.append(join(*child))
        else:
            texts.append(escape(str(child)))
    return Html("".join(texts))


def data(value: Any, **attributes: Any) -> Html:
    """JSON for a script to read; no text in it can end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(letter, code)
    return tag("script", Html(text), type="application/json", **attributes)
