"""One tiny real study for all tests of what is made from it."""

import pytest

from tests.support.synthetic_results import trained


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return trained(folder, "policy_inertia/TwoWay-v0", "Two-Way", {"SAC": "sac", "NSAC": "nsac"})
