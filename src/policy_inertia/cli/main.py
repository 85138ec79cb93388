"""The entry point: find the command, run it, and turn errors into one sentence.

tyro's `SubcommandApp` does not read the commands: it wants flags that are known beforehand, but
those of `train` depend on its method, and it reads all commands to run one. `completion`, which
needs them all, uses it.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from policy_inertia.cli.at_budget import AtBudget
from policy_inertia.cli.command import DEBUG, Command, command_line
from policy_inertia.cli.compare import Compare
from policy_inertia.cli.completion import Completion
from policy_inertia.cli.dial import Dial
from policy_inertia.cli.evaluate import Evaluate
from policy_inertia.cli.export import Export
from policy_inertia.cli.measure import Measure
from policy_inertia.cli.methods import Methods
from policy_inertia.cli.parity import Parity
from policy_inertia.cli.planner import Planner
from policy_inertia.cli.pull import Pull
from policy_inertia.cli.push import Push
from policy_inertia.cli.record import Record
from policy_inertia.cli.report import Report
from policy_inertia.cli.smooth import Smooth
from policy_inertia.cli.study import Study
from policy_inertia.cli.tasks import Tasks
from policy_inertia.cli.theory import Theory
from policy_inertia.cli.train import Train
from policy_inertia.cli.tune import Tune
from policy_inertia.cli.verdict import Verdict
from policy_inertia.cli.view import complain, out, say
from policy_inertia.errors import InputError, Stopped, TrustError, nearest
from policy_inertia.machine import use_one_thread

# in the order of the overview
COMMANDS: dict[str, type[Command]] = {
    command.name: command
    for command in (
        Train,
        Evaluate,
        Measure,
        Dial,
        Smooth,
        Tune,
        Compare,
        Study,
        Report,
        AtBudget,
        Verdict,
        Record,
        Planner,
        Theory,
        Export,
        Push,
        Pull,
        Parity,
        Methods,
        Tasks,
        Completion,
    )
}
WRONG_INPUT, UNEXPECTED, SIGNALLED, NO_READER = 2, 70, 128, 141
"""Exit codes; a command itself ends with 0, or with 1 if something failed that it checks.

A signal's number is added to `SIGNALLED`, as a shell does.
"""


def main() -> None:
    """Run one command; every error ends in one sentence and an exit code."""
    use_one_thread()  # before NumPy and JAX are imported
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not if a program has replaced the stream
            stream.reconfigure(errors="backslashreplace")  # in a locale without the letter
    try:
        run([word for word in sys.argv[1:] if word != DEBUG])
        sys.stdout.flush()  # raises here, and not when Python ends, if nobody reads it
    except Stopped as stop:  # the sentence says what is saved
        complain(str(stop))
        sys.exit(SIGNALLED + stop.signal)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(SIGNALLED + signal.SIGINT)
    except BrokenPipeError:  # such as in `policy-inertia tasks | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(NO_READER)
    except Exception as error:
        _end(error)


def run(words: Sequence[str]) -> None:
    """Run the command that these words name."""
    name, *args = words or ["--help"]
    if name in ("-h", "--help", "help"):
        out.print("policy-inertia", style="bold", end=" ")
        say(overview())
    elif name == "--version":
        from importlib.metadata import version

        say(version("policy-inertia"))
    elif name not in COMMANDS:
        raise InputError(f"there is no command '{name}'{nearest(name, COMMANDS)}")
    else:
        COMMANDS[name].parse(args).run()


def _end(error: Exception) -> NoReturn:
    """Say in one sentence what went wrong and what to do, and end the program."""
    if DEBUG in sys.argv or os.environ.get("POLICY_INERTIA_DEBUG", "0") not in ("", "0"):
        traceback.print_exception(error)
    if isinstance(error, TrustError):
        complain(f"{error.refusal}: if you trust this file, run {command_line()} --trust", "red")
    elif isinstance(error, InputError):
        complain(str(error), "red")
    else:
        complain(_unexpected(error), "red")
        sys.exit(UNEXPECTED)
    sys.exit(WRONG_INPUT)


def _unexpected(error: Exception) -> str:
    """A sentence for an error that nobody has thought of."""
    message = (str(error).strip().splitlines() or [""])[0][:300]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return (
        f"unexpected {type(error).__name__}: {message}{place}; {command_line()} {DEBUG} shows the "
        "traceback, so please report it with that in the project's issue tracker"
    )


def overview() -> str:
    """All commands, each with its example and its summary."""
    width = max(len(command.example) for command in COMMANDS.values())
    rows = [f"  {c.example:<{width}}   {c.summary()}" for c in COMMANDS.values()]
    return (
        "makes discrete-action policies smooth, and measures how smooth they are.\n\n"
        + "\n".join(rows)
        + "\n\nEvery command explains itself, for example: policy-inertia train --help\n"
        f"After an unexpected error, add {DEBUG} to the command to see its traceback."
    )


if __name__ == "__main__":
    main()
