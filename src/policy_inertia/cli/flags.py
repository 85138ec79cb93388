"""Flags that several commands share: each is written once, with one help text."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import DisallowNone, Positional, arg

from policy_inertia.actions.bucket import Limit
from policy_inertia.cli.view import warn
from policy_inertia.errors import InputError


def default_is(text: str) -> Any:
    """Show `text` as the default of a flag whose default is computed."""
    return arg(help_behavior_hint=f"(default: {text})")


_ASSIGNMENTS: dict[str, Any] = {
    "metavar": "NAME=VALUE [NAME=VALUE ...]",
    "help_behavior_hint": "",
}
_THRESHOLD = (
    "Put a hysteresis filter around the policy. It keeps the previous action unless another one is "
    "better by this threshold, in log-probability, or in Q for DQN."
)
_NO_FILTER = "(default: no filter)"

Seed = Annotated[int, arg(help="Seed of everything random. The same seed gives the same result.")]
Quiet = Annotated[bool, arg(help="Print plain lines instead of a progress bar, for log files.")]
Jobs = Annotated[
    DisallowNone[int | None],
    arg(help="Number of runs at a time.", help_behavior_hint="(default: one per processor core)"),
]
Log = Annotated[
    tuple[str, ...],
    arg(
        help="Send the figures of every evaluation to these trackers too: csv, mlflow, wandb. "
        "metrics.jsonl and TensorBoard's files are always written.",
        metavar="TRACKER [TRACKER ...]",
        help_behavior_hint="(default: none)",
    ),
]
Trust = Annotated[
    bool,
    arg(
        help="Let the files run code: import the package of an environment (package:Id) that they "
        "name, pass on any arguments, load pickles. For your own files only."
    ),
]
EnvKwargs = Annotated[
    tuple[str, ...],
    arg(help="Arguments of the environment, such as config.scenario=simple.", **_ASSIGNMENTS),
]
Threshold = Annotated[
    DisallowNone[float | None], arg(help=_THRESHOLD, help_behavior_hint=_NO_FILTER)
]
Thresholds = Annotated[
    tuple[float, ...],
    arg(help=f"{_THRESHOLD} One row for each threshold.", help_behavior_hint=_NO_FILTER),
]
_RATE = (
    "Hold the policy to a limit on switching that is always kept: this many switches per step, and "
    "a burst of some more. A method that plans with limits plans with it. For continuous actions, "
    "a limit on movement, in ranges per step."
)
_NO_LIMIT = "(default: no limit)"
Rate = Annotated[DisallowNone[float | None], arg(help=_RATE, help_behavior_hint=_NO_LIMIT)]
Rates = Annotated[
    tuple[float, ...], arg(help=f"{_RATE} One row for each rate.", help_behavior_hint=_NO_LIMIT)
]
Burst = Annotated[
    DisallowNone[float | None],
    arg(
        help="How many switches, or ranges of movement, a limit allows at once: in n steps at most "
        "burst + rate * n.",
        help_behavior_hint="(default: 1)",
    ),
]
Dwell = Annotated[
    DisallowNone[int | None],
    arg(
        help="Hold every action for at least this many steps. Each head is held for itself, and an "
        "action mask ends a hold.",
        help_behavior_hint="(default: 1, no rule)",
    ),
]
Costs = Annotated[
    DisallowNone[Path | None],
    arg(
        help="Table of what each switch costs, as a multiple of the threshold, the token or the "
        "price, in a file: a row for each action, a column for each next one, 0 on the diagonal. "
        ".csv, .json (a list of rows) or .toml (costs = [[...]]).",
        help_behavior_hint="(default: every switch costs 1)",
    ),
]
Normalise = Annotated[
    DisallowNone[Path | None],
    arg(
        help="Statistics of the VecNormalize that a policy of Stable-Baselines3 was trained in: "
        "its .pkl, or a .npz with mean and var. 'none' if there was none.",
        help_behavior_hint="(default: those in an RL Zoo folder)",
    ),
]
Output = Annotated[
    DisallowNone[Literal["action", "logits", "probabilities", "q"] | None],
    arg(help="What an ONNX file returns.", help_behavior_hint="(default: inferred)"),
]
OutputName = Annotated[
    DisallowNone[str | None],
    arg(
        help="Name of the output of an ONNX file to read.", help_behavior_hint="(default: inferred)"
    ),
]
Temperature = Annotated[
    DisallowNone[float | None],
    arg(
        help="Sample from softmax(Q / T), or sharpen probabilities; 0 is greedy.",
        help_behavior_hint="(default: as the policy does)",
    ),
]
Clip = Annotated[
    bool,
    arg(help="Clip the continuous actions of an ONNX file to their bounds, as many envs do."),
]
FrameStack = Annotated[
    DisallowNone[int | None],
    arg(
        help="How many frames the VecFrameStack had in which a policy of Stable-Baselines3 was "
        "trained.",
        help_behavior_hint="(default: what an RL Zoo folder says, else 1)",
    ),
]
Dimensions = Annotated[
    tuple[Literal["absolute", "delta", "untouched"], ...],
    arg(
        help="What each number of a continuous action means: absolute (a position, a torque), "
        "delta (a change of a position) or untouched (no filter). One word for each number.",
        help_behavior_hint="(default: all absolute)",
    ),
]
Assignments = Annotated[tuple[str, ...], arg(**_ASSIGNMENTS)]  # each command says which settings


@dataclass(frozen=True)
class PolicyFile:
    """Which policy."""

    policy: Positional[Path]
    """A run folder or policy file (.safetensors); a policy of others: a zip of
    Stable-Baselines3, an RL Zoo folder, or an ONNX file; or one that comes with the package:
    merge, merge-dqn, two-way or two-way-dqn."""
    best: bool = False
    """Take the policy of the run's best evaluation. Default: the last policy of the run."""
    trust: Trust = False
    normalise: Normalise = None
    output: Output = None
    output_name: OutputName = None
    temperature: Temperature = None
    clip: Clip = False
    frame_stack: FrameStack = None
    core: Annotated[DisallowNone[Path | None], default_is("none")] = None
    """The policy of others that the file is about, such as an ONNX file, where the file could not
    hold it."""

    def load(self, env: str | None = None, env_kwargs: dict[str, Any] | None = None) -> Any:
        """Load the policy; `env` and its arguments are those of a policy of others."""
        from policy_inertia.interop.any_policy import load_any

        ours = self.best and self.policy.is_dir() and not any(self.policy.glob("*.zip"))
        file = self.policy / "best.safetensors" if ours else self.policy
        options = foreign_options(
            self.normalise,
            self.output,
            self.output_name,
            self.temperature,
            self.trust,
            self.clip,
            self.frame_stack,
        )
        return load_any(file, env, env_kwargs, core=self.core, **options)

    def beside(self, name: str) -> Path:
        """Return the path of `name` in the run folder, or in the folder of the policy file.

        For a policy that comes with the package, that is the current folder.
        """
        return (self.policy if self.policy.is_dir() else self.policy.parent) / name


@dataclass(frozen=True)
class PolicyInEnv(PolicyFile):
    """Which policy, and the environment to run it in."""

    env: Annotated[DisallowNone[str | None], default_is("the one it was trained on")] = None
    """Gymnasium id of the environment to run it in."""
    env_kwargs: EnvKwargs = ()

    def load(self, env: str | None = None, env_kwargs: dict[str, Any] | None = None) -> Any:
        """Load the policy; one of others needs the environment of the flags."""
        kwargs = assignments("--env-kwargs", self.env_kwargs)
        return super().load(env or self.env, env_kwargs or kwargs)

    @property
    def elsewhere(self) -> bool:
        """Whether flags name another environment than the policy's own."""
        return self.env is not None or bool(self.env_kwargs)

    def environment(self, policy: Any) -> tuple[str, dict[str, Any]]:
        """Return the id and the arguments of the environment.

        In the environment that the policy was trained on, the arguments of training hold unless a
        flag changes them.
        """
        from policy_inertia.run_settings import merge

        env, kwargs = self.env or policy.task, assignments("--env-kwargs", self.env_kwargs)
        return env, merge(policy.env_kwargs, kwargs) if env == policy.task else kwargs


@dataclass(frozen=True)
class RunOptions:
    """Where a run is stored, and how it is shown."""

    out: Annotated[DisallowNone[Path | None], default_is("runs/ENV-METHOD-SEED")] = None
    """Folder for the run."""
    resume: bool = False
    """Continue the run in that folder after it was stopped."""
    quiet: Quiet = False
    log: Log = ()


@dataclass(frozen=True)
class WorkerOptions:
    """How many runs at a time, and how they are shown."""

    jobs: Jobs = None
    quiet: Quiet = False


def foreign_options(
    normalise: Path | None,
    output: str | None,
    output_name: str | None,
    temperature: float | None,
    trust: bool,
    clip: bool = False,
    frame_stack: int | None = None,
) -> dict[str, Any]:
    """The flags about policies of others, as options of `load_core`; it warns as commands do."""
    return {
        "normalise": False if normalise == Path("none") else normalise,
        "output": output,
        "output_name": output_name,
        "temperature": temperature,
        "trust": trust,
        "clip": clip,
        "frame_stack": frame_stack,
        "warn": warn,
    }


def assignments(flag: str, texts: Sequence[str]) -> dict[str, Any]:
    """Read assignments such as 'config.scenario=simple' into {'config': {'scenario': 'simple'}}.

    A value is read as JSON; what is not JSON is a string. True and False work as well.

    Raises:
        InputError: a text is no assignment; `flag` names the flag in the message.
    """
    values: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        *parents, name = path.split(".")
        if not equals or not all((*parents, name)):
            raise InputError(f"{flag} {text}: write name=value, or group.name=value")
        group = values
        for parent in parents:
            group = group.setdefault(parent, {})
        try:
            group[name] = json.loads(value.lower() if value in ("True", "False") else value)
        except ValueError:
            group[name] = value
    return values


def allowances(rates: Sequence[float], burst: float | None) -> list[tuple[float, float]]:
    """The rate and the burst of each limit, for `policy.with_limit`.

    Raises:
        InputError: There is a burst but no rate.
    """
    if burst is not None and not rates:
        raise InputError(f"--burst {burst:g} belongs to a limit: add --limit, such as --limit 0.1")
    return [(rate, 1.0 if burst is None else burst) for rate in rates]


def allowance(rate: float | None, burst: float | None) -> tuple[float, float] | None:
    """The rate and the burst of a single limit, or None; see `allowances`."""
    return next(iter(allowances([] if rate is None else [rate], burst)), None)


def limits(rates: Sequence[float], burst: float | None) -> list[Limit]:
    """The limits on switching with these rates; without a rate there must be no burst.

    Raises:
        InputError: There is a burst but no rate, or a number is out of range.
    """
    return [Limit(rate, burst) for rate, burst in allowances(rates, burst)]


def limit(rate: float | None, burst: float | None) -> Limit | None:
    """The limit of a single rate, or None; see `limits`."""
    return next(iter(limits([] if rate is None else [rate], burst)), None)


def ruled(policy: Any, dwell: int | None, costs: Path | None) -> Any:
    """The policy with the rules of switching of --dwell and --costs; itself without them.

    Raises:
        InputError: Its actions are continuous, or a rule does not fit them.
    """
    from policy_inertia.actions.cost_file import read_costs

    if dwell is None and costs is None:
        return policy
    if not policy.spaces.actions.finite:
        raise InputError(
            f"--dwell and --costs are about switches, and the actions of {policy} are continuous: "
            "use filters, or --limit"
        )
    policy = policy if dwell is None else policy.with_dwell(dwell)
    return policy if costs is None else policy.with_costs(read_costs(costs))


def filtered(
    policy: Any,
    hysteresis: float | None,
    held_to: tuple[float, float] | None,
    dwell: int | None,
    costs: Path | None,
) -> Any:
    """The policy with the filters of these flags.

    Raises:
        InputError: One of them does not fit it, or costs have nothing to multiply.
    """
    policy = ruled(policy, dwell, costs)
    policy = policy if hysteresis is None else policy.with_hysteresis(hysteresis)
    policy = policy if held_to is None else policy.with_limit(*held_to)
    if costs is not None and policy.hysteresis is None and policy.limit is None:
        raise InputError(
            f"--costs {costs} multiplies a threshold or tokens, and there are none: add "
            "--hysteresis or --limit"
        )
    return policy


def render_offscreen() -> None:
    """Let pygame draw frames without a window, and without a warning that there is none."""
    for name in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER"):
        os.environ[name] = os.environ.get(name) or "dummy"
