"""policy-inertia push: publish a policy on the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import PolicyInEnv, Seed
from policy_inertia.cli.view import say, working


@dataclass(frozen=True)
class PolicyAndPlace(PolicyInEnv):
    """Which policy, and where to."""

    to: Positional[str] = field(kw_only=True)
    """A repository, such as user/calm-cartpole, or a folder, such as ./card."""


@dataclass(frozen=True)
class Push(Command):
    """Publish a policy on the Hugging Face Hub.

    Evaluates the policy and uploads a model card, its figures, policy.safetensors and, where the
    policy can be exported, policy.onnx. 'hf auth login' signs in.

    A destination that begins with . or / is a folder of this machine: the same files are written,
    and nothing is uploaded.
    """

    name: ClassVar[str] = "push"
    example: ClassVar[str] = "policy-inertia push runs/x user/calm-cartpole"

    source: Annotated[PolicyAndPlace, arg(name="")]
    private: bool = False
    """If the repository is new, only you can see it."""
    episodes: int = 20
    """Number of episodes behind the figures of the card."""
    seed: Seed = 0

    def run(self) -> None:
        from policy_inertia.interop.hub import push

        policy, to = self.source.load(), self.source.to
        env = self.source.env if self.source.env != policy.task else None
        with working("evaluating and uploading"):
            place = push(policy, to, env, self.episodes, self.seed, self.private)
        say(f"The policy and its card are in {place}")
