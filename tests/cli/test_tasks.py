from policy_inertia import TASKS
from tests.cli.conftest import Run


def test_every_task_is_listed(run: Run) -> None:
    code, text, _ = run("tasks")
    assert code == 0
    assert all(name in text for name in TASKS)
