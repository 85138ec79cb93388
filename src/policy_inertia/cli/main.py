"""The entry point: find the command, run it, and turn errors into one sentence.

tyro's `SubcommandApp` is not used: it reads flags that are known beforehand, but those of `train`
depend on its method.
"""

from __future__ import annotations

import importlib.metadata
import sys

from rich.markup import escape

from policy_inertia.cli.at_budget import AtBudget
from policy_inertia.cli.command import Command
from policy_inertia.cli.compare import Compare
from policy_inertia.cli.dial import Dial
from policy_inertia.cli.evaluate import Evaluate
from policy_inertia.cli.export import Export
from policy_inertia.cli.methods import Methods
from policy_inertia.cli.parity import Parity
from policy_inertia.cli.planner import Planner
from policy_inertia.cli.record import Record
from policy_inertia.cli.report import Report
from policy_inertia.cli.smooth import Smooth
from policy_inertia.cli.study import Study
from policy_inertia.cli.tasks import Tasks
from policy_inertia.cli.theory import Theory
from policy_inertia.cli.train import Train
from policy_inertia.cli.view import complain, out
from policy_inertia.errors import InputError, nearest
from policy_inertia.machine import use_one_thread

# in the order of the overview
COMMANDS: dict[str, type[Command]] = {
    command.name: command
    for command in (
        Train,
        Evaluate,
        Dial,
        Smooth,
        Compare,
        Study,
        Report,
        AtBudget,
        Record,
        Planner,
        Theory,
        Export,
        Parity,
        Methods,
        Tasks,
    )
}


def main() -> None:
    """Run one command; bad input ends in one sentence and exit code 2."""
    use_one_thread()  # before NumPy and JAX are imported
    name, *args = sys.argv[1:] or ["--help"]
    try:
        if name in ("-h", "--help", "help"):
            out.print(overview(), soft_wrap=True)
        elif name == "--version":
            out.print(importlib.metadata.version("policy-inertia"))
        elif name not in COMMANDS:
            raise InputError(f"there is no command '{name}'{nearest(name, COMMANDS)}")
        else:
            COMMANDS[name].parse(args).run()
    except InputError as error:
        complain(str(error), "red")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped; the same command with --resume goes on")
        sys.exit(130)


def overview() -> str:
    """All commands, each with its example and its summary, as rich markup."""
    width = max(len(command.example) for command in COMMANDS.values())
    rows = [f"  {c.example:<{width}}   {c.summary()}" for c in COMMANDS.values()]
    return (
        "[bold]policy-inertia[/bold] makes discrete-action policies smooth, and measures how "
        "smooth they are.\n\n" + escape("\n".join(rows)) + "\n\n"
        "Every command explains itself, for example: policy-inertia train --help"
    )


if __name__ == "__main__":
    main()
