"""policy-inertia train: one method on one environment."""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Self

from tyro.conf import Positional, Suppress, arg

from policy_inertia.cli.command import Command, read_flags
from policy_inertia.cli.flags import Assignments, EnvKwargs, RunOptions, assignments
from policy_inertia.cli.stages import staged_progress
from policy_inertia.cli.view import say, show_best_settings, show_figures, warn
from policy_inertia.errors import InputError

METHOD_PAGE = """\
Train '{method}': {about}.

These are all flags. The defaults are those of --preset {preset}; the other presets are
{others}. Flags that begin with --core set the core of a nested method.
"""
LOOSEST = {"price": "price 0", "rate": "no limit"}
"""How a policy acts after its training, by what can be set."""


@dataclass(frozen=True)
class Train(Command):
    """Train one policy.

    Every setting of the run and of the method is a flag. 'policy-inertia train nsac --help' lists
    those of nsac.

    The run's folder holds the policy, the evaluations and checkpoints. After a stop, give the same
    command with --resume.
    """

    name: ClassVar[str] = "train"
    example: ClassVar[str] = "policy-inertia train nsac CartPole-v1 --steps 50000"

    method: Positional[str]
    """What to train; 'policy-inertia methods' lists the methods."""
    env: Positional[str]
    """Gymnasium id of the environment; 'policy-inertia tasks' lists those with settings."""
    options: Annotated[RunOptions, arg(name="")] = field(default_factory=RunOptions)
    env_kwargs: EnvKwargs = ()
    eval_env_kwargs: Assignments = ()
    """Arguments of the environment that evaluation overrides."""
    preset: str = "default"
    """The defaults of all other flags: 'default' is for tasks of all kinds, 'paper' is the paper's
    table of settings."""
    config: Annotated[Any, Suppress] = None  # a RunConfig, whose flags depend on the method

    @classmethod
    def parse(cls, args: Sequence[str]) -> Self:
        """Read the method and the environment, and then the flags of that method."""
        words = list(itertools.takewhile(lambda word: not word.startswith("-"), args))[:2]
        asks_for_help = bool({"-h", "--help"} & set(args))
        if asks_for_help and not words:
            return super().parse(args)
        from policy_inertia.methods import TABLES, find_method
        from policy_inertia.presets import PRESETS
        from policy_inertia.run_settings import RunConfig, action_kind, settings

        if len(words) < 2 and not asks_for_help:
            known = dict.fromkeys(name for table in TABLES.values() for name in table)
            raise InputError(
                "train needs a method and an env, in this order and before the flags: "
                f"policy-inertia train nsac CartPole-v1 (methods: {', '.join(known)})"
            )
        name, task = (*words, "ENV")[:2]
        chosen = _value("--preset", args) or "default"
        kwargs = assignments("--env-kwargs", tuple(_values("--env-kwargs", args)))
        kind = action_kind(name, task, kwargs)
        defaults = settings(name, task, chosen, actions=kind)

        @dataclass(frozen=True)
        class TrainMethod(cls):  # type: ignore[valid-type, misc]
            method: Annotated[str, Suppress] = name
            env: Annotated[str, Suppress] = task
            config: Annotated[RunConfig, arg(name="")] = defaults

        others = ", ".join(preset for preset in PRESETS if preset != chosen)
        page = METHOD_PAGE.format(
            method=name, about=find_method(name, kind).about, preset=chosen, others=others
        )
        return read_flags(TrainMethod, args[len(words) :], cls, f"train {name} {task}", page)

    def run(self) -> None:
        from policy_inertia.study.folder import read_result
        from policy_inertia.training.loop import default_folder, run

        config = self._run_config()
        folder = self.options.out or default_folder(config.env, config.method, config.seed)
        with staged_progress(config.steps, self.options.quiet) as stages:
            stages.start_training()
            run(
                config,
                folder,
                resume=self.options.resume,
                progress=stages.train,
                warn=warn,
                calibrating=partial(stages.watch, "calibrating"),
                log=self.options.log,
            )
        result = read_result(folder)
        rows = {"sampled": result.sampled, "greedy": result.greedy, "core": result.core}
        if result.calibration is not None:  # it acts greedily, at its loosest setting
            loosest = LOOSEST[result.calibration.setting_name]
            rows = {loosest: result.greedy, "core": result.core}
        show_figures(
            f"{config.method} on {config.env} after {result.step:,} steps",
            {name: figures for name, figures in rows.items() if figures is not None},
        )
        if result.calibration is not None:
            show_best_settings(result.calibration)
            say(
                f"policy-inertia dial {folder} shows all of them, and evaluate --budget acts at one"
            )
        say(f"The run is in {folder}")

    def _run_config(self) -> Any:
        """The run's settings with the env's arguments from the flags."""
        from policy_inertia.run_settings import merge

        changes = assignments("--eval-env-kwargs", self.eval_env_kwargs)
        return dataclasses.replace(
            self.config,
            env_kwargs=assignments("--env-kwargs", self.env_kwargs),
            eval_env_kwargs=merge(self.config.eval_env_kwargs, changes),
        )


def _values(flag: str, args: Sequence[str]) -> list[str]:
    """The words between a flag and the next one."""
    if flag not in args:
        return []
    after = args[list(args).index(flag) + 1 :]
    return list(itertools.takewhile(lambda word: not word.startswith("--"), after))


def _value(flag: str, args: Sequence[str]) -> str | None:
    """The word after a flag, or behind its equals sign; the last one counts."""
    pairs = itertools.pairwise([*args, ""])
    values = [
        b if a == flag else a.removeprefix(f"{flag}=") for a, b in pairs if a.split("=")[0] == flag
    ]
    return values[-1] if values else None
