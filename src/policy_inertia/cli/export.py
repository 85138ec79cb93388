"""policy-inertia export: a policy for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import DisallowNone, arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import (
    Burst,
    Costs,
    Dimensions,
    Dwell,
    EnvKwargs,
    PolicyFile,
    Rate,
    Threshold,
    allowance,
    assignments,
    default_is,
    filtered,
)
from policy_inertia.cli.view import say
from policy_inertia.errors import InputError


@dataclass(frozen=True)
class Export(Command):
    """Write a policy for other programs: ONNX, C or NumPy.

    The ONNX file holds core, controller and filters. Its inputs are observation and
    previous_action (-1 at the start of an episode), with --limit also tokens; its outputs are
    action, probabilities and inertia, with --limit also next_tokens. It is compared with the policy
    on random inputs. Needs policy-inertia[onnx].

    For continuous actions, previous_action and action are the environment's own (NaN at the start
    of an episode); filter and limit add their memory as inputs and outputs.

    --c writes one C99 file without dependencies instead, --numpy a file that 30 lines of Python run
    with NumPy alone. Both are for perceptrons.

    A policy of others, such as a zip of Stable-Baselines3, can be exported too; then --env must
    name its environment. --card writes a folder instead: a model card with measured figures, the
    policy and its ONNX file.
    """

    name: ClassVar[str] = "export"
    example: ClassVar[str] = "policy-inertia export runs/CartPole-v1-nsac-0"

    source: Annotated[PolicyFile, arg(name="")]
    out: Annotated[DisallowNone[Path | None], default_is("policy.onnx beside the policy")] = None
    """The ONNX file to write."""
    c: Annotated[DisallowNone[Path | None], default_is("no C file")] = None
    """Write this C file. Without --out, no ONNX file is written then."""
    numpy: Annotated[DisallowNone[Path | None], default_is("no file for NumPy")] = None
    """Write this .npz file for numpy_runtime.py, in the same way."""
    hysteresis: Threshold = None
    filter: Annotated[
        DisallowNone[str | None],
        arg(metavar="NAME=SETTING", help_behavior_hint="(default: the policy's own, or none)"),
    ] = None
    """Put a filter around a policy with continuous actions, such as exponential=0.3,
    butterworth=0.2, dead_band=0.05, rate_limit=0.1 or one_euro=0.05."""
    dimensions: Dimensions = ()
    limit: Rate = None
    burst: Burst = None
    dwell: Dwell = None
    costs: Costs = None
    env: Annotated[DisallowNone[str | None], default_is("the one it was trained on")] = None
    """Gymnasium id of the environment, for a policy of others only."""
    env_kwargs: EnvKwargs = ()
    dial: bool = False
    """Let the file take the price of a dial as the input lambda. Default: the price that is set."""
    card: Annotated[DisallowNone[Path | None], default_is("no card")] = None
    """Write this folder for the Hugging Face Hub instead of a single file."""
    episodes: int = 20
    """Number of episodes behind the figures of the card."""

    def run(self) -> None:
        from policy_inertia.interop.c_out import export_c
        from policy_inertia.interop.model_card import model_card
        from policy_inertia.interop.numpy_out import export_numpy
        from policy_inertia.interop.onnx_out import export

        path, held_to = self.source.policy, allowance(self.limit, self.burst)
        policy = self._load()
        if self.filter is not None or self.dimensions:
            policy = self._filtered(policy)
        policy = filtered(policy, self.hysteresis, held_to, self.dwell, self.costs)
        writers: list[tuple[Any, Path | None]] = [(export_c, self.c), (export_numpy, self.numpy)]
        files = [(write, file) for write, file in writers if file is not None]
        for write, file in files:
            say(str(write(policy, file)))
        if self.card is None:
            if files and self.out is None:
                return
            default = path / "policy.onnx" if path.is_dir() else path.with_suffix(".onnx")
            say(str(export(policy, self.out or default, self.dial)))
            return
        for file in model_card(policy, self.card, episodes=self.episodes):
            say(str(file))

    def _filtered(self, policy: Any) -> Any:
        """Put the filter of the flags around a policy with continuous actions."""
        from policy_inertia.interop.description import exported
        from policy_inertia.policies.action_filters.rule_table import from_text

        if policy.spaces.actions.finite:
            raise InputError(
                f"--filter and --dimensions are for continuous actions, and those of {policy} are "
                "Discrete: use --hysteresis or --limit"
            )
        policy = exported(policy)
        if self.dimensions:
            policy = policy.with_dimensions(self.dimensions)
        return policy if self.filter is None else policy.with_filter(from_text(self.filter))

    def _load(self) -> Any:
        """Load the policy: our own, or with --env one of others."""
        path = self.source.policy
        ours = path.suffix == ".safetensors" or (path / "policy.safetensors").exists()
        if ours and self.env is not None:
            raise InputError(
                f"--env {self.env} is for a policy of others: {path} names its environment"
            )
        return self.source.load(self.env, assignments("--env-kwargs", self.env_kwargs))
