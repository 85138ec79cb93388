"""Build HTML from Python; all text is escaped. Nothing here knows about reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from policy_inertia.errors import visible

VOID = {"meta", "img", "br", "input"}


class Html(str):
    """Text that is HTML already and must not be escaped."""


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element.

    Args:
        name: the element's name, such as "p".
        *children: see `join`.
        **attributes: `class_` becomes class and `aria_label` becomes aria-label; None and False
            are left out, True gives an attribute without a value.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{escape(visible(str(value)))}"')
    start = f"<{' '.join(parts)}>"
    return Html(start if name in VOID else f"{start}{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """Join children: HTML stays, lists are joined item by item, all other values are escaped."""
    texts = []
    for child in children:
        if child is None or isinstance(child, Html):
            texts.append(child or "")
        elif isinstance(child, Iterable) and not isinstance(child, str):
            texts.append(join(*child))
        else:
            texts.append(escape(visible(str(child))))
    return Html("".join(texts))


def data(value: Any, **attributes: Any) -> Html:
    """Return JSON in a script element; no text in it can end the element or start another one."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(letter, code)
    return tag("script", Html(text), type="application/json", **attributes)


def count(n: int, noun: str) -> str:
    """Return a number with its noun: "1 seed", "5 seeds"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def count_range(numbers: Iterable[int], noun: str) -> str:
    """Return the lowest and the highest number with their noun: "3 to 5 seeds"."""
    low, *_, high = [*sorted(numbers)] * 2
    return count(low, noun) if low == high else f"{low} to {high} {noun}s"
