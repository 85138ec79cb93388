"""What a command is: a dataclass of flags that knows its name, an example and how to run."""

from __future__ import annotations

import inspect
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import tyro

from policy_inertia.cli.numbers import NUMBERS
from policy_inertia.cli.view import out

WIDEST = 100  # columns of a help page's text
MARKERS = (
    tyro.conf.AvoidSubcommands,
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.PositionalMetavarFromFieldName,
)
"""How tyro reads the flags of every command."""
DEBUG = "--debug"
"""Shows the traceback of an error; every command takes it."""


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
        return read_flags(cls, args, cls, cls.name, inspect.cleandoc(cls.__doc__ or ""))


def read_flags(
    flags: Any, args: Sequence[str], command: type[Command], words: str, about: str
) -> Any:
    """Read `args` into an instance of the dataclass `flags`, or show the help page and exit.

    Args:
        flags: the dataclass whose fields are the flags.
        args: the flags as given on the command line.
        command: the command that the flags belong to.
        words: the part of the command line that comes before the flags.
        about: the paragraphs at the top of the help page.
    """
    if {"-h", "--help"} & set(args):
        paragraphs = [" ".join(paragraph.split()) for paragraph in about.split("\n\n")]
        text = "\n\n".join([*paragraphs, f"Example:\n  {command.example}\n"])
        out.print(text, width=min(WIDEST, out.width))
    return tyro.cli(
        flags,
        prog=f"policy-inertia {words}",
        description="",  # it is above: tyro would not wrap it
        args=args,
        config=MARKERS,
        registry=NUMBERS,
    )


def command_line() -> str:
    """Return the command that is running, as one would type it in a shell."""
    words = (word for word in sys.argv[1:] if word != DEBUG)
    return shlex.join(["policy-inertia", *words])
