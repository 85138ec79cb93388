"""Where a text comes from: the user's own words, or a file that somebody else may have written.

Every text that is read from one of our JSON or safetensors files is a `FileText`. It is a string
like any other, but code that would import or open something because of it refuses this type. So a
file has no say in what is imported or opened, unless the user trusts the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from policy_inertia.errors import InputError

DEEPEST = 100
"""Levels of tables and lists in a file that is read."""


class FileText(str):
    """A text that was read from a file that the user has not declared trusted.

    Copies and pickles of it remember their file. A text that is computed from it, by `replace` or
    in an f-string, is an ordinary string.

    Attributes:
        file: The file.
        trusting: The Python call that reads the file as trusted; empty if there is none.
    """

    file: str
    trusting: str

    def __new__(cls, text: str, file: str = "", trusting: str = "") -> FileText:
        self = super().__new__(cls, text)
        self.file, self.trusting = file, trusting
        return self


def from_file(value: Any, file: object, trusting: str = "") -> Any:
    """Return a value from JSON with every text in it as a `FileText`, keys included.

    Args:
        value: Tables, lists, texts, numbers and None.
        file: The file that the value was read from.
        trusting: The Python call that reads the file as trusted.

    Raises:
        InputError: The value is nested more deeply than any file of ours.
    """
    name = str(file)
    return _converted(value, lambda text: FileText(text, name, trusting), name)


def trusted(value: Any) -> Any:
    """Return a value from a file with every text in it as an ordinary string."""
    return _converted(value, str, "a value that was trusted")


def _converted(value: Any, convert: Callable[[str], str], where: str, depth: int = 0) -> Any:
    """Apply `convert` to every text inside a value."""
    if isinstance(value, str):
        return convert(value)
    if depth > DEEPEST:
        raise InputError(f"{where} is nested more than {DEEPEST} levels deep: it is damaged")
    if isinstance(value, dict):
        return {
            _converted(key, convert, where, depth + 1): _converted(item, convert, where, depth + 1)
            for key, item in value.items()
        }
    if type(value) in (list, tuple):
        return type(value)(_converted(item, convert, where, depth + 1) for item in value)
    return value


def file_texts(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, FileText]]:
    """Iterate over every `FileText` inside a value, each with the name of its place.

    Args:
        value: Tables, lists and anything else; a key that is a `FileText` counts too.
        name: The name of `value` itself; places inside it are called `name.key`.
        depth: For the recursion: levels above `value`.
    """
    if isinstance(value, FileText):
        yield name, value
    if depth > DEEPEST:  # `from_file` has refused what lies deeper
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, FileText):
                yield name or "a name", key
            yield from file_texts(item, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from file_texts(item, name, depth + 1)
