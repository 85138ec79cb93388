from pathlib import Path

import pytest

from policy_inertia import Policy
from policy_inertia.interop.onnx_in import session
from tests.cli.conftest import Run
from tests.support.calibrations import reaching
from tests.support.policies import fresh
from tests.support.sb3_models import SB3Model

pytest.importorskip("onnx")


def test_policy_is_exported_with_its_filter(run: Run, finished: Path, tmp_path: Path) -> None:
    import onnx

    path = tmp_path / "smooth.onnx"
    code, text, _ = run("export", finished, "--out", path, "--hysteresis", 0.5)
    assert code == 0
    assert "random inputs" in text
    assert "previous_action" in [i.name for i in onnx.load(path).graph.input]


def test_limit_adds_tokens_to_the_file(run: Run, finished: Path, tmp_path: Path) -> None:
    import onnx

    path = tmp_path / "limited.onnx"
    assert run("export", finished, "--out", path, "--limit", 0.1, "--burst", 2).code == 0
    graph = onnx.load(path).graph
    assert "tokens" in [i.name for i in graph.input]
    assert "next_tokens" in [o.name for o in graph.output]


def test_dwell_and_costs_are_part_of_the_file(run: Run, finished: Path, tmp_path: Path) -> None:
    costs, path = tmp_path / "costs.toml", tmp_path / "p.onnx"
    costs.write_text("costs = [[0, 2], [1, 0]]")
    words = ("export", finished, "--out", path, "--dwell", 3, "--costs", costs)
    code, _, text = run(*words)
    assert code == 2
    assert "there are none: add --hysteresis or --limit" in text
    assert run(*words, "--limit", 0.1, "--burst", 2).code == 0
    names = {i.name for i in session(path).get_inputs()}
    assert names == {"observation", "previous_action", "tokens", "held", "held_action"}


def test_model_card_is_a_folder(run: Run, finished: Path, tmp_path: Path) -> None:
    code, text, _ = run("export", finished, "--card", tmp_path / "card", "--episodes", 2)
    assert code == 0
    assert {"README.md", "policy.safetensors"} <= {p.name for p in (tmp_path / "card").iterdir()}
    assert "README.md" in text


def test_environment_is_given_for_a_foreign_zip_only(
    run: Run, finished: Path, sb3_model: SB3Model
) -> None:
    code, _, text = run("export", finished, "--env", "CartPole-v1")
    assert code == 2
    assert "names its environment" in text
    _, path = sb3_model("DQN", "CartPole-v1")
    code, _, text = run("export", path)
    assert code == 2
    assert "does not name its environment: add --env, such as --env CartPole-v1" in text


def test_dial_is_an_input_of_the_file_if_asked_for(run: Run, tmp_path: Path) -> None:
    import onnx

    reaching(fresh("dial-dqn", largest=3.0), 3.0).save(tmp_path / "dial.safetensors")
    names = []
    for words in ((), ("--dial",)):
        assert run("export", tmp_path / "dial.safetensors", *words).code == 0
        names.append([i.name for i in onnx.load(tmp_path / "dial.onnx").graph.input])
    assert names[1] == [*names[0], "lambda"]


def test_card_of_a_foreign_zip_can_be_loaded(run: Run, tmp_path: Path, sb3_model: SB3Model) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    words = ("--env", "CartPole-v1", "--card", tmp_path / "card", "--episodes", 1)
    assert run("export", path, *words).code == 0
    assert Policy.load(tmp_path / "card").task == "CartPole-v1"


def test_foreign_zip_is_exported(run: Run, tmp_path: Path, sb3_model: SB3Model) -> None:
    _, path = sb3_model("DQN", "CartPole-v1")
    files = ["--out", tmp_path / "core.onnx", "--c", tmp_path / "core.c"]
    code, text, _ = run("export", path, "--env", "CartPole-v1", *files)
    assert code == 0
    assert "random inputs" in text
    assert "policy_act" in (tmp_path / "core.c").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nowhere", "there is no file nowhere"),
        ("nowhere.zip --env CartPole-v1", "there is no file nowhere.zip"),
        ("nowhere.safetensors --env CartPole-v1", "nowhere.safetensors names its environment"),
    ],
)
def test_missing_file_is_reported_in_one_sentence(
    run: Run, tmp_path: Path, words: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, text = run("export", *words.split())
    assert code == 2
    assert message in text
    assert text.count("\n") == 1


def test_policy_is_written_as_c_and_for_numpy_without_onnx(
    run: Run, finished: Path, tmp_path: Path
) -> None:
    before = sorted(finished.iterdir())
    flags = ["--limit", 0.1, "--c", tmp_path / "policy.c", "--numpy", tmp_path / "policy.npz"]
    code, text, _ = run("export", finished, *flags)
    assert code == 0
    assert "C99" in text
    assert "numpy_runtime.py" in text
    assert "int64_t tokens;" in (tmp_path / "policy.c").read_text()
    assert (tmp_path / "policy.npz").exists()
    assert sorted(finished.iterdir()) == before
    both = ["--c", tmp_path / "again.c", "--out", tmp_path / "policy.onnx"]
    assert run("export", finished, *both).code == 0
    assert (tmp_path / "policy.onnx").exists()


def test_c_file_must_end_in_c(run: Run, finished: Path, tmp_path: Path) -> None:
    code, _, text = run("export", finished, "--c", tmp_path / "policy.cpp")
    assert code == 2
    assert "a C file ends in .c" in text
    assert text.count("\n") == 1


@pytest.fixture(scope="module")
def box_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip with continuous actions, before any training."""
    from stable_baselines3 import SAC

    path = tmp_path_factory.mktemp("box") / "sac.zip"
    network = {"net_arch": [8]}
    SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10, policy_kwargs=network).save(path)
    return path


def test_continuous_zip_is_exported_with_filter_and_limit(
    run: Run, tmp_path: Path, box_zip: Path
) -> None:
    import onnx

    names = [tmp_path / name for name in ("p.onnx", "p.c", "p.npz")]
    files = [word for pair in zip(("--out", "--c", "--numpy"), names, strict=True) for word in pair]
    flags = ["--filter", "butterworth=0.2", "--limit", 0.05, "--burst", 0.2]
    code, text, error = run("export", box_zip, "--env", "Pendulum-v1", *files, *flags)
    assert (code, error) == (0, "")
    assert "random inputs" in text
    assert all(path.exists() for path in names)
    model = onnx.load(names[0])
    assert {"filter_first", "limit_tokens"} <= {i.name for i in model.graph.input}
    assert "Pendulum-v1" in {p.value for p in model.metadata_props}
    assert "limit_burst = 200000;" in names[1].read_text()


def test_continuous_policy_file_is_exported_with_its_own_filter(
    run: Run, tmp_path: Path, box_zip: Path
) -> None:
    import policy_inertia as pi

    path = tmp_path / "calm.safetensors"
    policy = pi.load_core(box_zip, "Pendulum-v1").with_filter(pi.Exponential(0.3))
    policy.save(path)
    assert run("export", path).code == 0
    assert (tmp_path / "calm.onnx").exists()
    assert run("export", path, "--c", tmp_path / "own.c").code == 0
    assert "filter_alpha = 0.3;" in (tmp_path / "own.c").read_text()
    other = ("--filter", "exponential=0.2", "--dimensions", "delta")
    assert run("export", path, "--c", tmp_path / "other.c", *other).code == 0
    assert "filter_alpha = 0.2;" in (tmp_path / "other.c").read_text()
    assert "filter_taken" in (tmp_path / "other.c").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--filter expontial=0.3", "the filter is 'expontial': did you mean 'exponential'?"),
        ("--filter exponential", "give its alpha, a number, such as exponential=0.3"),
        ("--filter exponential=7", "alpha is 7.0: give the share of the way that a step goes"),
        ("--dimensions delta delta", "2 dimensions are declared and an action has 1 numbers"),
        ("--hysteresis 0.1", "are continuous, and hysteresis compares the scores of Discrete ones"),
        ("--burst 0.2", "--burst 0.2 belongs to a limit"),
        ("--dial", "has no dial: export it without one"),
    ],
)
def test_what_does_not_fit_continuous_actions_is_one_sentence(
    run: Run,
    tmp_path: Path,
    box_zip: Path,
    words: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, text = run(
        "export", box_zip, "--env", "Pendulum-v1", "--out", "p.onnx", *words.split()
    )
    assert code == 2
    assert message in text
    assert text.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_filter_of_continuous_actions_is_refused_for_discrete_ones(
    run: Run, finished: Path
) -> None:
    code, _, text = run("export", finished, "--filter", "exponential=0.3")
    assert code == 2
    assert "--filter and --dimensions are for continuous actions" in text
