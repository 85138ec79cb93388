"""policy-inertia completion: complete commands and flags in a shell."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, ClassVar, Literal

from tyro.conf import Positional, Suppress, arg

from policy_inertia.cli.command import MARKERS, Command
from policy_inertia.cli.numbers import NUMBERS
from policy_inertia.cli.train import Train

SPECIFICATION = "COMPLETION_SPEC = "
"""How the line of a script begins that has all commands and flags."""


@dataclass(frozen=True)
class Completion(Command):
    """Print a script that completes commands and flags.

    bash reads it from ~/.local/share/bash-completion/completions/policy-inertia, zsh from a file
    _policy-inertia in a folder of $fpath, fish from
    ~/.config/fish/completions/policy-inertia.fish. Write it again after an upgrade. The flags of
    train are those of the method.
    """

    name: ClassVar[str] = "completion"
    example: ClassVar[str] = "policy-inertia completion bash"

    shell: Positional[Literal["bash", "zsh", "fish"]]
    """Which shell."""

    def run(self) -> None:
        sys.stdout.write(completion_script(self.shell, Command.__subclasses__()) + "\n")


def completion_script(shell: str, commands: Iterable[type[Command]]) -> str:
    """Return a script that completes these commands in a shell."""
    from tyro.extras import SubcommandApp

    app: Any = SubcommandApp()
    for command in commands:
        app.command(_methods() if command is Train else command, name=command.name)
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        words = ["--tyro-print-completion", shell]
        app.cli(prog="policy-inertia", args=words, config=MARKERS, registry=NUMBERS)
    lines = text.getvalue().splitlines()
    # a help text of several lines would be several completions
    return "\n".join(x.replace(r"\n", " ") if x.startswith(SPECIFICATION) else x for x in lines)


def _methods() -> Any:
    """`train` with its methods as commands, each with the flags of its settings."""
    from tyro.extras import SubcommandApp

    from policy_inertia.methods import TABLES
    from policy_inertia.run_settings import RunConfig, settings

    app: Any = SubcommandApp()
    kinds = {name: kind for kind, table in reversed(TABLES.items()) for name in table}
    for name, kind in kinds.items():
        defaults = settings(name, "ENV", actions=kind)
        fields: list[tuple[str, Any, Any]] = [
            ("method", Annotated[str, Suppress], name),
            ("env", Positional[str], "ENV"),
            ("config", Annotated[RunConfig, arg(name="")], defaults),
        ]
        app.command(make_dataclass("TrainMethod", fields, bases=(Train,), frozen=True), name=name)
    return app
