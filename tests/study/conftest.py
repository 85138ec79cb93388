"""Two small real studies that several test files share."""

from pathlib import Path

import pytest

from policy_inertia.study.results import Results
from policy_inertia.study.run.scheduler import run_study
from policy_inertia.study.run.workers import Workers
from tests.support.synthetic_results import trained
from tests.support.tiny_studies import COMMAND, tiny


@pytest.fixture(scope="session")
def two_methods(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """SAC and NSAC on Two-Way with two seeds each."""
    folder = tmp_path_factory.mktemp("study")
    return trained(folder, "policy_inertia/TwoWay-v0", "Two-Way", {"SAC": "sac", "NSAC": "nsac"})


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Results]:
    """The study `tiny`, run in one process without a disturbance: its folder and its results."""
    out = tmp_path_factory.mktemp("study") / "s"
    return out, run_study(tiny(), out, Workers(1), command=COMMAND)
