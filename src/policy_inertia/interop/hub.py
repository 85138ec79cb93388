"""Push policies to the Hugging Face Hub and pull them: a model card and plain files.

Our policy files cannot run code, so a policy of a stranger is read like any other file. Nothing but
`policy.safetensors` is downloaded.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from policy_inertia.envs.making import EnvLike
from policy_inertia.errors import InputError
from policy_inertia.files import claim, write_file
from policy_inertia.interop.model_card import model_card
from policy_inertia.policies.stored_policy import load_stored
from policy_inertia.storage import read_file

POLICY = "policy.safetensors"
LARGEST = 2**30
"""Most bytes of a policy that is pulled."""
REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)


def push(
    policy: Any,
    to: str | os.PathLike[str],
    env: EnvLike | None = None,
    episodes: int = 20,
    seed: int = 0,
    private: bool = False,
    endpoint: str | None = None,
) -> str:
    """Evaluate a policy, write its card, and upload both.

    Args:
        policy: A `Policy` or a `ContinuousCore`.
        to: A repository, such as "user/calm-cartpole". A path that begins with `.` or `/` is a
            folder, into which the same files are written.
        env: Where to evaluate; by default the task that the policy was trained on.
        episodes: Episodes behind the figures of the card.
        seed: Seed of the episodes.
        private: Make a new repository that only you can see.
        endpoint: Address of the Hub; by default what HF_ENDPOINT says.

    Returns:
        The address of the upload, or the folder.

    Raises:
        InputError: The name is wrong, `huggingface_hub` is missing, or the Hub refuses.
    """
    folder = _local(to)
    if folder is not None:
        model_card(policy, folder, env, episodes, seed)
        return str(folder)
    name, hub = _repository(to), _package()
    with tempfile.TemporaryDirectory() as temporary:
        model_card(policy, temporary, env, episodes, seed)
        with _asking(name):
            api = hub.HfApi(endpoint=_endpoint(endpoint), library_name="policy-inertia")
            api.create_repo(name, private=private, exist_ok=True)
            uploaded = api.upload_folder(
                repo_id=name, folder_path=temporary, commit_message="Upload a policy"
            )
    return str(uploaded.commit_url)


def pull(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    endpoint: str | None = None,
) -> Any:
    """Download a policy of policy-inertia and return it.

    Args:
        source: A repository, such as "user/calm-cartpole". A path that begins with `.` or `/` is a
            folder.
        out: An empty folder for a copy of the policy file; without it, the Hub's cache has it only.
        revision: A branch, a tag or a commit; by default the newest.
        endpoint: Address of the Hub; by default what HF_ENDPOINT says.

    Returns:
        A `Policy`; a `ContinuousCore` if its actions are continuous.

    Raises:
        InputError: There is no such repository, it holds no policy of policy-inertia, or the Hub
            does not answer.
    """
    folder = _local(source)
    file = _download(source, revision, endpoint) if folder is None else folder / POLICY
    if not file.exists():
        raise _not_ours(source, f"it has no {POLICY}")
    try:
        policy = load_stored(file)
    except InputError as error:
        raise _not_ours(source, str(error)) from error
    if out is not None:
        if (Path(out) / "run.json").exists():
            raise InputError(f"{out} is a run folder: choose another --out, so that it stays whole")
        lock = claim(Path(out), POLICY, "policy")
        try:
            write_file(Path(out) / POLICY, read_file(file, LARGEST))
        finally:
            lock.close()
    return policy


def _local(place: str | os.PathLike[str]) -> Path | None:
    """The folder that a place is; None for a repository."""
    if isinstance(place, str) and not place.startswith((".", "/")):
        return None
    return Path(place)


def _repository(place: str | os.PathLike[str]) -> str:
    if not REPOSITORY.fullmatch(str(place)):
        raise InputError(
            f"'{place}' is no repository of the Hub: write user/name, or ./folder for a folder of "
            "this machine"
        )
    return str(place)


def _endpoint(endpoint: str | None) -> str | None:
    return endpoint or os.environ.get("HF_ENDPOINT") or None


def _package() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors  # a module of its own
    except ImportError:
        raise InputError(
            "the Hub needs a package that is not installed: pip install 'policy-inertia[hub]'"
        ) from None
    return huggingface_hub


def _download(source: str | os.PathLike[str], revision: str | None, endpoint: str | None) -> Path:
    """Download the policy file of a repository into the Hub's cache."""
    name, hub = _repository(source), _package()
    where = {"revision": revision, "endpoint": _endpoint(endpoint)}
    with _asking(name):
        address = hub.hf_hub_url(name, POLICY, **where)
        try:
            size = hub.get_hf_file_metadata(address, endpoint=where["endpoint"]).size or 0
        except hub.errors.EntryNotFoundError:
            raise _not_ours(name, f"it has no {POLICY}") from None
        if size > LARGEST:
            raise _not_ours(name, f"its {POLICY} has {size:,} bytes")
        return Path(hub.hf_hub_download(name, POLICY, library_name="policy-inertia", **where))


@contextlib.contextmanager
def _asking(name: str) -> Iterator[None]:
    """Turn what the Hub says into one sentence."""
    errors = _package().errors
    try:
        yield
    except InputError:
        raise
    except (errors.RepositoryNotFoundError, errors.GatedRepoError) as error:
        raise InputError(
            f"the Hub has no repository '{name}' that you may use: check its name, or sign in with "
            "'hf auth login'"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise InputError(f"'{name}' has no such revision: check its name") from error
    except Exception as error:  # the package and what it uses raise many classes
        reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
        raise InputError(
            f"the Hub cannot be used for '{name}' ({reason}): check the connection, or sign in "
            "with 'hf auth login'"
        ) from error


def _not_ours(source: object, reason: str) -> InputError:
    return InputError(f"'{source}' is not a policy of policy-inertia: {reason}")
