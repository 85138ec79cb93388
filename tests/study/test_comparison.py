import pytest

from policy_inertia import InputError, compare, train
from tests.support.runs import contents

SHORT = {"steps": 1_600, "eval_every": 800, "eval_episodes": 3, "final_episodes": 5}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "c"
    overrides = {"nsac": {"mu0": 0.1}}
    found = compare(
        ["dqn", "nsac"], "CartPole-v1", 2, out, hysteresis=[1.0], overrides=overrides, **SHORT
    )
    return out, found


def test_every_method_runs_with_every_seed(compared):
    (experiment,) = compared[1].experiments
    assert [(s.label, s.task, s.seeds) for s in experiment.series] == [
        ("dqn", "CartPole-v1", [0, 1]),
        ("nsac", "CartPole-v1", [0, 1]),
    ]
    nsac = experiment.series[1]
    assert nsac.config["config"]["mu0"] == 0.1
    filtered, plain = nsac.hysteresis[1.0][0]["greedy"], nsac.results[0]["greedy"]
    assert filtered["oscillation_ratio"] <= plain["oscillation_ratio"]


def test_run_of_a_comparison_is_the_run_one_would_start_alone(compared, tmp_path):
    series = compared[1].experiments[0].series[1]
    train("nsac", "CartPole-v1", tmp_path / "alone", seed=1, mu0=0.1, **SHORT)
    assert contents(tmp_path / "alone") == contents(series.folders[1])


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
