"""policy-inertia train: one method on one environment."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from tyro.conf import arg

from policy_inertia.cli.command import Command, read_flags
from policy_inertia.cli.flags import Assignments, EnvKwargs, RunOptions, assignments
from policy_inertia.cli.progress import training_progress
from policy_inertia.cli.view import out, show_figures, warn
from policy_inertia.errors import InputError

if TYPE_CHECKING:
    from policy_inertia.settings import RunConfig

HELP = """\
Train one method on one environment: policy-inertia train METHOD ENV. {what}

The defaults are the settings that 'policy-inertia tasks' lists for the environment; where it lists
none, they are the paper's settings for Highway. Flags that begin with --core set the core of a
nested method.

The run's folder holds the policy, the evaluations and checkpoints. After a stop, give the same
command with --resume.
"""


@dataclass(frozen=True)
class Train(Command):
    """Train one policy.

    The flags depend on the method, so `parse` reads METHOD and ENV first.
    """

    name: ClassVar[str] = "train"
    example: ClassVar[str] = "policy-inertia train nsac CartPole-v1 --steps 50000"

    config: "RunConfig"
    options: RunOptions

    @classmethod
    def parse(cls, args: Sequence[str]) -> Self:
        """Read the method, the environment, and the flags of that method."""
        from policy_inertia.methods import METHODS, find_method
        from policy_inertia.settings import RunConfig as Settings
        from policy_inertia.settings import settings

        words, flags = _leading_words(args)
        if len(words) < 2 and not {"-h", "--help"} & set(args):
            raise InputError(
                "train needs a method and an env, in this order and before the flags: "
                f"policy-inertia train nsac CartPole-v1 (methods: {', '.join(METHODS)})"
            )
        if words:
            what = f"'{words[0]}' is {find_method(words[0]).about}."
        else:
            what = "These are the flags of nsac; 'train METHOD --help' shows another method's."
        method, env = words + ["nsac", "ENV"][len(words) :]

        defaults = settings(method, env)

        @dataclass(frozen=True)
        class Flags:
            options: Annotated[RunOptions, arg(name="")]
            run: Annotated[Settings, arg(name="")] = defaults
            env_kwargs: EnvKwargs = ()
            eval_env_kwargs: Assignments = ()
            """Arguments of the environment that evaluation overrides."""

        prefix = f"train {words[0] if words else 'METHOD'} {env}"
        parsed = read_flags(Flags, flags, cls, prefix, HELP.format(what=what))
        return cls(_with_env_kwargs(parsed), parsed.options)

    def run(self) -> None:
        from policy_inertia.training.loop import default_folder, run

        config = self.config
        folder = self.options.out or default_folder(config.env, config.method, config.seed)
        with training_progress(config.steps, self.options.quiet) as progress:
            run(config, folder, resume=self.options.resume, progress=progress, warn=warn)
        result = json.loads((folder / "result.json").read_text())
        show_figures(
            f"{config.method} on {config.env} after {result['step']:,} steps",
            {name: result[name] for name in ("sampled", "greedy", "core") if name in result},
        )
        out.print(f"The run is in {folder}", soft_wrap=True)


def _leading_words(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split `args` into at most two words that come first, and the flags after them."""
    words: list[str] = []
    flags = list(args)
    while flags and not flags[0].startswith("-") and len(words) < 2:
        words.append(flags.pop(0))
    return words, flags


def _with_env_kwargs(flags: Any) -> "RunConfig":
    from policy_inertia.settings import merge

    changes = assignments("--eval-env-kwargs", flags.eval_env_kwargs)
    return dataclasses.replace(
        flags.run,
        env_kwargs=assignments("--env-kwargs", flags.env_kwargs),
        eval_env_kwargs=merge(flags.run.eval_env_kwargs, changes),
    )
