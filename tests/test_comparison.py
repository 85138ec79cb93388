import json

import numpy as np
import pytest
from scipy import stats

from policy_inertia import InputError, compare
from policy_inertia.comparison import interval
from policy_inertia.plots import draw_curves
from tests.helpers import contents

SHORT = {"steps": 1_600, "eval_every": 800, "eval_episodes": 3, "final_episodes": 5}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "c"
    found = compare(["dqn", "nsac"], "CartPole-v1", 2, out, hysteresis=[1.0], **SHORT)
    return out, found


def test_every_method_runs_with_every_seed(compared):
    out, found = compared
    assert [row.name for row in found.rows] == [
        "dqn",
        "dqn + hysteresis 1",
        "nsac",
        "nsac + hysteresis 1",
    ]
    for row in found.rows:
        assert len(row.sampled) == len(row.greedy) == 2
        assert row.sampled[0]["return"] != row.sampled[1]["return"]
    result = json.loads((out / "nsac" / "seed-1" / "result.json").read_text())
    assert found.rows[2].greedy[1] == result["greedy"]
    plain, filtered = found.rows[2].greedy, found.rows[3].greedy
    assert filtered[0]["oscillation_ratio"] <= plain[0]["oscillation_ratio"]


def test_run_of_a_comparison_is_the_run_one_would_start_alone(compared, tmp_path):
    from policy_inertia import train

    out, _ = compared
    train("nsac", "CartPole-v1", tmp_path / "alone", seed=1, **SHORT)
    assert contents(tmp_path / "alone") == contents(out / "nsac" / "seed-1")


def test_finished_comparison_is_only_gathered_again(compared):
    out, found = compared
    stamps = {p: p.stat().st_mtime_ns for p in out.rglob("policy.safetensors")}
    with pytest.raises(InputError, match="holds a comparison already"):
        compare(["dqn", "nsac"], "CartPole-v1", 2, out, **SHORT)
    again = compare(["dqn", "nsac"], "CartPole-v1", 2, out, resume=True, **SHORT)
    assert [r.sampled for r in again.rows] == [found.rows[0].sampled, found.rows[2].sampled]
    assert stamps == {p: p.stat().st_mtime_ns for p in out.rglob("policy.safetensors")}


def test_curves_are_drawn(compared, tmp_path):
    draw_curves(compared[1], tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_failing_run_is_reported_and_the_others_go_on(tmp_path):
    (tmp_path / "c" / "sac" / "seed-0").mkdir(parents=True)
    (tmp_path / "c" / "sac" / "seed-0" / "mine.txt").write_text("keep")
    found = compare(["sac", "dqn"], "CartPole-v1", 1, tmp_path / "c", resume=True, **SHORT)
    assert [row.name for row in found.rows] == ["dqn"]
    (failed,) = [r for r in found.runs if not r.done]
    assert "is not empty and holds no run" in failed.error


def test_interval_is_students():
    values = [1.0, 2.0, 4.0]
    mean, half = interval(values)
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert np.isnan(interval([3.0])[1])


@pytest.mark.parametrize(
    ("methods", "seeds", "says"),
    [([], 1, "no method is given"), (["dqm"], 1, "did you mean 'dqn'"), (["dqn"], 0, "seeds is 0")],
)
def test_comparisons_of_nothing_are_refused(methods, seeds, says, tmp_path):
    with pytest.raises(InputError, match=says):
        compare(methods, "CartPole-v1", seeds, tmp_path / "c")


def test_bad_env_is_said_before_anything_is_started(tmp_path):
    for env, says in (("CartPole-v11", "did you mean"), (lambda: None, "register the env")):
        with pytest.raises(InputError, match=says):
            compare(["dqn"], env, 1, tmp_path / "c")
    assert not (tmp_path / "c").exists()
