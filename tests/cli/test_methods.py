from policy_inertia import METHODS
from tests.cli.conftest import Run


def test_every_method_is_listed(run: Run) -> None:
    code, text, _ = run("methods")
    assert code == 0
    assert all(name in text for name in METHODS)
