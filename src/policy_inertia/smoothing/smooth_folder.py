"""The folder that `smooth` leaves: the recommended policy, the comparison and the training run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from policy_inertia.algorithms.frozen import FrozenConfig
from policy_inertia.errors import InputError
from policy_inertia.files import claim, remove_temporary_files
from policy_inertia.smoothing.smoothed import Smoothed
from policy_inertia.storage import FORMAT, read_json, write_json
from policy_inertia.training.loop import default_folder

ABOUT = "core.json"
RESULT = "smooth.json"
DIGITS = 6  # of a core's digest, in the names of folders


@dataclass(frozen=True)
class CoreDescription:
    """The contents of `core.json`: which policy was made smooth."""

    core: str
    digest: str


class SmoothFolder:
    """The result of `smooth` on disk.

    core.json            which core it is about
    policy.safetensors   the recommended policy: other commands take the folder as a policy
    smooth.json          the comparison, the verdict and the frontiers
    controller/          the run in which a controller was trained, if one was

    Args:
        path: The folder.
        core: The core's name and digest.
        resume: Go on in a folder that is about the same core.
        warn: Called with a sentence if there is nothing to go on with.

    Raises:
        InputError: The folder is in use, holds something else, or is about another core.
    """

    def __init__(
        self,
        path: Path,
        core: FrozenConfig,
        resume: bool,
        warn: Callable[[str], None] = warnings.warn,
    ) -> None:
        self.path, about = path, path / ABOUT
        if about.exists() and not resume:
            finished = (path / RESULT).exists()
            held = "a smoothed policy already" if finished else "an unfinished smoothing"
            raise InputError(
                f"{path} holds {held}: add --resume to go on with it, or choose another --out"
            )
        self._lock = claim(path, ABOUT, "smoothed policy")
        try:
            if resume and not about.exists():
                warn(f"{path} holds nothing to resume: the smoothing starts from the beginning")
            remove_temporary_files(path)
            self._describe(about, CoreDescription(core.name, core.digest))
        except BaseException:
            self.close()
            raise

    def _describe(self, about: Path, core: CoreDescription) -> None:
        """Write which core the folder is about, or check that it is the same one."""
        if not about.exists():
            write_json(about, {"format": FORMAT, **asdict(core)})
        old = read_json(about, CoreDescription, "the description of a smoothed policy")
        if old != core:
            raise InputError(
                f"{self.path} was started around {old.core} and the core is now {core.core}, which "
                "acts differently or has another name: resume with its own core, or choose another "
                "--out"
            )

    @property
    def controller(self) -> Path:
        """The folder of the training run."""
        return self.path / "controller"

    def save(self, result: Smoothed) -> Smoothed:
        """Write the recommended policy and the comparison, and return the result itself."""
        result.policy.save(self.path / "policy.safetensors")
        write_json(self.path / RESULT, {"format": FORMAT, **result.to_dict()})
        return result

    def close(self) -> None:
        """Give the folder free for other processes."""
        self._lock.close()


def folder_name(env: str, core: str, digest: str, method: str, seed: int) -> Path:
    """The folder of a core for which none is given; two cores do not share it.

    Args:
        env: The env's name.
        core: The core's name, or its path.
        digest: The core's digest: files of different cores may have the same name.
        method: What is trained around it.
        seed: The seed.
    """
    stem = re.sub(r"[^\w.-]+", "-", Path(core).stem).strip("-") or "core"
    return default_folder(env, f"{method}-{stem}-{digest[:DIGITS]}", seed)
