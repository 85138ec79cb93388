"""The docs are true: their code runs, their links lead somewhere, the functions they name exist."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def run(page: str, tmp_path: Path) -> str:
    """Run all Python of a page from top to bottom, and return what it prints."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_of_the_interop_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    text = run("interop.md", tmp_path)
    assert len(re.findall(r"^ *[\d.]+: return", text, re.M)) == 3
    assert "random inputs within" in text
    assert re.search(r"^return \d+\.0$", text, re.M)


def test_python_of_the_page_on_continuous_actions_runs(tmp_path: Path) -> None:
    text = run("continuous.md", tmp_path)
    assert "ContinuousCore(shaky, Exponential(alpha=" in text
    assert "action fluctuation (share of the range per step): 0.3" in text
    assert "random inputs within" in text
    assert "C99" in text


def test_python_of_the_page_on_robots_that_shake_makes_one_calm(tmp_path: Path) -> None:
    text = run("shaking.md", tmp_path)
    before = re.search(r"action fluctuation \(share of the range per step\): ([\d.]+)", text)
    verdict = r"^Recommended: (\w+)\. It moves by ([\d.]+) .* it \w+ (-?[\d.]+)%"
    after = re.search(verdict, text, re.M)
    assert before
    assert after
    assert float(before[1]) > 0.5
    assert float(after[2]) <= 0.07
    assert abs(float(after[3])) < 5
    assert (tmp_path / "calm" / "policy.safetensors").exists()


def test_python_of_the_page_on_tools_runs(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    step, command, pulled = run("tools.md", tmp_path).splitlines()
    assert step == "step"
    assert command.startswith("policy-inertia train dqn CartPole-v1 ")
    assert "dqn" in pulled
    assert (tmp_path / "card" / "README.md").exists()


def test_python_of_the_tutorial_makes_a_policy_smooth(tmp_path: Path) -> None:
    text = run("tutorial.md", tmp_path)
    before = re.search(r"return (\d+), switches at (\d+)% of steps", text)
    filtered = re.search(r"^hysteresis  threshold \S+ .*?\]  ([\d.]+) \[", text, re.M)
    after = re.findall(
        r"^Recommended: (\w+)\. It switches at ([\d.]+) .* returns (\d+)", text, re.M
    )
    assert before
    assert filtered
    assert float(filtered[1]) <= 0.2 < int(before[2]) / 100
    (_, _, _), (name, share, return_) = after  # of the filter alone, and with a controller
    assert name == "controller"
    assert float(share) <= 0.21  # the budget of 0.2 was met on ten other episodes
    assert int(return_) > int(before[1])  # smoother, and better
    assert "random inputs within" in text
    assert (tmp_path / "smooth" / "policy.safetensors").exists()


def test_python_of_the_page_on_training_with_a_budget_keeps_it(tmp_path: Path) -> None:
    text = run("tutorials/budget.md", tmp_path)
    share = re.search(r"return \d+, switches at (\d+)% of steps", text)
    assert share
    assert int(share[1]) <= 55  # the budget of 50%, on other episodes
    assert (tmp_path / "smooth.safetensors").exists()


def test_python_of_the_page_on_comparing_writes_a_report(tmp_path: Path) -> None:
    run("tutorials/compare.md", tmp_path)
    report = (tmp_path / "report.html").read_text()
    assert "dqn" in report
    assert "nsac" in report


def test_a_price_of_switching_pays_where_a_switch_costs_a_fee(tmp_path: Path) -> None:
    text = run("tutorials/switch-cost.md", tmp_path)
    rows = re.findall(r"^fee (\S+) +([-\d. ]+)  best at", text, re.M)
    profits = {float(fee): [float(x) for x in row.split()] for fee, row in rows}
    prices = sorted(profits)
    assert prices == [0, 0.25, 0.5, 1, 2]
    for fee, row in profits.items():
        at_fee = row[prices.index(fee)]
        assert max(row) - at_fee < 1.5  # nothing is much better than the price that is the fee
    assert profits[2][0] < -5 < 5 < profits[2][-1]  # who ignores the fee loses money


def test_a_table_of_costs_saves_trades_and_money(tmp_path: Path) -> None:
    text = run("tutorials/trading-costs.md", tmp_path)
    rows = re.findall(r"^(.+): profit ([\d.]+), ([\d.]+) switches per step$", text, re.M)
    profits = {name: (float(profit), float(share)) for name, profit, share in rows}
    assert profits["table of costs"][0] > profits["no filter"][0] + 3
    assert profits["table of costs"][1] < profits["equal costs"][1] < profits["no filter"][1]


def test_a_signal_that_is_held_lets_more_cars_through(tmp_path: Path) -> None:
    text = run("tutorials/traffic-signals.md", tmp_path)
    rows = re.findall(r"^held for (\d+): return (-\d+), a change every (\d+) steps$", text, re.M)
    returns = {int(dwell): int(return_) for dwell, return_, _ in rows}
    assert all(int(steps) >= int(dwell) for dwell, _, steps in rows)
    assert max(returns[6], returns[10]) > max(returns[1], returns[60])


def test_python_of_the_page_on_an_own_env_trains_on_it(tmp_path: Path) -> None:
    assert re.search(r"price +return +oscillation ratio", run("howto/own-env.md", tmp_path))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M
    )
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{link} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{link}: there is no such heading"


LAYERS = "|".join(path.stem for path in (ROOT / "src" / "policy_inertia").iterdir())


def exists(name: str) -> bool:
    """Whether `name`, such as `algorithms.losses.gate`, is something in policy_inertia."""
    parts = ["policy_inertia", *name.split(".")]
    for i in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            value = getattr(value, part, None)
        return value is not None
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_functions_that_the_docs_name_exist(page: Path) -> None:
    names = re.findall(rf"`((?:{LAYERS})(?:\.\w+)+)(?:\(\))?`", page.read_text())
    files = {
        name for name in names if name.endswith((".py", ".toml", ".json", ".jsonl", ".csv", ".db"))
    }
    assert [name for name in set(names) - files if not exists(name)] == []


def test_the_algorithm_pages_name_the_function_of_each_equation() -> None:
    for page in ("nested.md", "dial.md"):
        text = (DOCS / "algorithms" / page).read_text()
        table = text.split("| Equation | Function |\n|---|---|\n")[1].split("\n\n")[0]
        rows = [re.findall(r"`([\w.]+)`", row.split(" | ")[-1]) for row in table.splitlines()]
        assert rows
        assert all(names and all(exists(name) for name in names) for names in rows)


def test_every_recipe_names_the_test_that_follows_it() -> None:
    recipes = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Recipes\n")[1].split("\n### ")[1:]
    files = [re.findall(r"`(tests/recipes/test_\w+\.py)`", recipe) for recipe in recipes]
    assert all(len(names) == 1 for names in files)
    tests = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/recipes/test_*.py")}
    assert {name for names in files for name in names} == tests
