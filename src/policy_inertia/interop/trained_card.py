"""The model card of the policies that come with the package, and how one is added."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from policy_inertia.errors import InputError
from policy_inertia.evaluation.evaluate import evaluate
from policy_inertia.files import write_file
from policy_inertia.metrics.measures import CRASHES, OSCILLATION, RETURN
from policy_inertia.policies.policy import Policy
from policy_inertia.policies.trained import FOLDER, trained_policies
from policy_inertia.storage import read_page

EPISODES, SEED, BUDGET = 200, 0, 0.2
STYLES = {RETURN.name: ".2f", OSCILLATION.name: ".3f", CRASHES.name: ".3f"}
HEAD = "| | method | return | switches per step | crash rate |\n|---|---|---|---|---|\n"


def add_policy(run: Path, name: str, folder: Path = FOLDER) -> Path:
    """Copy the last policy of a run to the package, and return its file.

    Raises:
        InputError: The run has no policy of one of our tasks.
    """
    policy = Policy.load(run)
    if not policy.task.startswith("policy_inertia/"):
        raise InputError(f"{run} was trained on {policy.task}: give a run on a task of the package")
    file = folder / f"{name}.safetensors"
    policy.save(file)
    return file


def card_rows(name: str) -> Iterator[str]:
    """Measure one policy of the package: a row as it is, and one at a budget if it has a dial."""
    policy = Policy.load(name)
    yield _row(f"`{name}`", policy)
    if policy.traits.dial:
        yield _row(f"`{name}`, budget {BUDGET:g}", policy.with_budget(BUDGET))


def write_table(folder: Path = FOLDER) -> None:
    """Measure every policy of the package, and put the table into the card."""
    card = folder / "README.md"
    before, head, rest = read_page(card).partition(HEAD)
    if not head:
        raise InputError(f"{card} has no place for the table: it must have the line {HEAD!r}")
    _, _, after = rest.partition("\n\n")
    rows = "\n".join(row for name in trained_policies() for row in card_rows(name))
    write_file(card, f"{before}{HEAD}{rows}\n\n{after}".encode())


def _row(label: str, policy: Policy) -> str:
    figures = evaluate(
        policy, policy.task, EPISODES, SEED, deterministic=True, env_kwargs=policy.env_kwargs
    ).summary()
    cells = " | ".join(f"{figures[name]:{style}}" for name, style in STYLES.items())
    return f"| {label} | {policy.method} | {cells} |"
