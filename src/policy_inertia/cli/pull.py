"""policy-inertia pull: download a policy from the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import DisallowNone, Positional

from policy_inertia.cli.command import Command
from policy_inertia.cli.flags import default_is
from policy_inertia.cli.view import say, working


@dataclass(frozen=True)
class Pull(Command):
    """Download a policy from the Hugging Face Hub.

    The policy is read as data: nothing in it can run code. Only policies of policy-inertia are
    taken; 'policy-inertia smooth' reads those of other libraries from files.
    """

    name: ClassVar[str] = "pull"
    example: ClassVar[str] = "policy-inertia pull user/calm-cartpole"

    source: Positional[str]
    """A repository, such as user/calm-cartpole, or a folder, such as ./card."""
    out: Annotated[DisallowNone[Path | None], default_is("runs/USER-NAME")] = None
    """Folder for the policy."""
    revision: Annotated[DisallowNone[str | None], default_is("the newest")] = None
    """A branch, a tag or a commit."""

    def run(self) -> None:
        from policy_inertia.interop.hub import pull

        folder = self.out or Path("runs") / self.source.strip("./").replace("/", "-")
        with working("downloading"):
            policy = pull(self.source, folder, self.revision)
        say(f"{policy}")
        say(f"It is in {folder}; evaluate, record, export and dial take it")
