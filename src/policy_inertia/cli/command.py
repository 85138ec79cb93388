"""What a command is: a dataclass of flags that knows its name, an example and how to run."""

from __future__ import annotations

import inspect
import shlex
import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import tyro

WIDEST = 100  # columns of a help page's text


@dataclass(frozen=True)
class Command(ABC):
    """One command. Its fields are its flags, its docstring is its help page.

    The first line of the docstring is the summary that the overview shows.
    """

    name: ClassVar[str]
    example: ClassVar[str]
    """A complete command that a reader can copy."""

    @abstractmethod
    def run(self) -> None:
        """Do the work and show the result."""

    @classmethod
    def summary(cls) -> str:
        """One line about the command, without the full stop."""
        return inspect.cleandoc(cls.__doc__ or "").partition("\n")[0].rstrip(".")

    @classmethod
    def parse(cls, args: Sequence[str]) -> Self:
        """Read the flags. A wrong flag ends the program with an explanation and exit code 2."""
        return read_flags(cls, args, cls.name, help_page(inspect.cleandoc(cls.__doc__ or ""), cls))


def help_page(text: str, command: type[Command]) -> str:
    """Return `text`, wrapped to the terminal's width, followed by the command's example."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    # tyro joins lines that begin with a letter, so each begins with a space
    wrap = textwrap.TextWrapper(width, initial_indent=" ", subsequent_indent=" ")
    paragraphs = [wrap.fill(" ".join(p.split())) for p in text.split("\n\n")]
    return "\n\n".join([*paragraphs, f" Example:\n   {command.example}"])


def read_flags(kind: Any, args: Sequence[str], words: str, description: str) -> Any:
    """Read `args` into an instance of the dataclass `kind`.

    Args:
        kind: the dataclass whose fields are the flags.
        args: what follows the command's name (and, for `train`, the method and the env).
        words: the part of the command line that comes before the flags.
        description: text above the flags on the help page.
    """
    return tyro.cli(
        kind,
        prog=f"policy-inertia {words}",
        description=description,
        args=args,
        config=(
            tyro.conf.AvoidSubcommands,
            tyro.conf.FlagCreatePairsOff,
            tyro.conf.PositionalMetavarFromFieldName,
        ),
    )


def command_line() -> str:
    """The command that is running, as a shell would read it."""
    return shlex.join(["policy-inertia", *sys.argv[1:]])
