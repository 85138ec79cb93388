import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]

from policy_inertia import ContinuousCore, InputError, Policy, evaluate, export, model_card
from policy_inertia.metrics.measures import MEASURES, select_measures
from policy_inertia.policies.action_filters.exponential import Exponential
from tests.support.arm import Arm, arm_core
from tests.support.policies import OBS, fresh


def front_matter(folder: Path) -> dict[str, Any]:
    text = (folder / "README.md").read_text()
    head = text.removeprefix("---\n").partition("\n---\n")[0]
    values = yaml.safe_load(head)
    assert isinstance(values, dict)
    return values


def test_card_holds_what_the_hub_reads(tmp_path: Path) -> None:
    policy = fresh("nsac").with_hysteresis(0.1)
    files = model_card(policy, tmp_path / "card", episodes=3)
    names = {"README.md", "results.json", "policy.safetensors", "policy.onnx"}
    assert {f.name for f in files} == {p.name for p in (tmp_path / "card").iterdir()} == names
    front = front_matter(tmp_path / "card")
    assert front["library_name"] == "policy-inertia"
    assert {"CartPole-v1", "reinforcement-learning"} <= set(front["tags"])
    (index,) = front["model-index"]
    metrics = {m["type"]: m["value"] for m in index["results"][0]["metrics"]}
    results = json.loads((tmp_path / "card" / "results.json").read_text())
    assert metrics["mean_reward"] == (
        f"{results['mean_reward']:.2f} +/- {results['std_reward']:.2f}"
    )
    assert metrics["oscillation_ratio"] == f"{results['oscillation_ratio']:.3f}"
    assert "unless another one is better by 0.1" in (tmp_path / "card" / "README.md").read_text()


def test_card_shows_every_known_measure_of_its_own_evaluation(tmp_path: Path) -> None:
    policy = fresh("nsac")
    model_card(policy, tmp_path / "card", episodes=3, seed=5)
    figures = evaluate(policy, "CartPole-v1", 3, 5, deterministic=True).summary()
    results = json.loads((tmp_path / "card" / "results.json").read_text())
    assert results["n_eval_episodes"] == 3
    assert results["mean_reward"] == figures["return"]
    known = {name: value for name, value in figures.items() if value is not None}
    assert {name: results[name] for name in MEASURES if name in results} == {
        name: value for name, value in known.items() if name != "episodes"
    }
    text = (tmp_path / "card" / "README.md").read_text()
    for measure in select_measures([figures]):
        assert f"{measure.title[1:]} | {measure.show(figures[measure.name])} |" in text
    assert "crash" not in text  # CartPole does not report crashes


def test_card_is_a_folder_that_loads(tmp_path: Path) -> None:
    policy = fresh("nsac")
    model_card(policy, tmp_path / "card", episodes=1)
    loaded = Policy.load(tmp_path / "card")
    np.testing.assert_array_equal(loaded.probabilities(OBS), policy.probabilities(OBS))


def test_card_of_a_dial_tells_its_price(tmp_path: Path) -> None:
    model_card(fresh("dial-dqn").at(0.5), tmp_path / "card", episodes=1)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "Its price of switching is 0.5: it takes any action." in text


def test_card_has_no_onnx_file_for_a_method_that_cannot_be_exported(tmp_path: Path) -> None:
    files = model_card(fresh("dqn-repeat"), tmp_path / "repeat", episodes=2)
    assert "policy.onnx" not in {f.name for f in files}
    assert "policy.onnx" not in (tmp_path / "repeat" / "README.md").read_text()


def test_export_without_onnx_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"needs onnx: pip install policy-inertia\[onnx\]"):
        export(fresh("dqn"), tmp_path / "p.onnx")


def test_odd_task_name_becomes_no_markup_of_the_card(tmp_path: Path) -> None:
    policy = fresh("dqn")
    policy.task = 'odd: "name"\n---\nx'
    model_card(policy, tmp_path / "card", env="CartPole-v1", episodes=1)
    assert front_matter(tmp_path / "card")["tags"][0] == "odd:_name_---_x"


def test_card_is_not_written_over_a_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="is a run folder"):
        model_card(fresh("dqn"), tmp_path)


def test_card_needs_a_task(tmp_path: Path) -> None:
    policy = fresh("dqn")
    policy.task = ""
    with pytest.raises(InputError, match="on which task it was trained: give env"):
        model_card(policy, tmp_path / "card")


def test_card_of_a_policy_within_a_limit_says_so(tmp_path: Path) -> None:
    model_card(fresh("dqn").with_limit(0.1, 2), tmp_path / "card", episodes=1)
    text = (tmp_path / "card" / "README.md").read_text()
    assert "at most 2 + 0.1 n switches, always" in text
    assert "Start with\n2000000, and give the last `next_tokens` back" in text


def test_card_of_a_continuous_policy_says_how_its_actions_are_smoothed(tmp_path: Path) -> None:
    policy = arm_core().with_filter(Exponential(0.3)).with_limit(0.05, 0.5)
    files = model_card(policy, tmp_path / "card", env=Arm, episodes=2)
    assert "policy.onnx" in {f.name for f in files}
    text = " ".join((tmp_path / "card" / "README.md").read_text().split())
    assert "A policy with continuous actions for" in text
    assert "the filter `exponential` (alpha 0.3)" in text
    assert "its actions move by at most 0.5 + 0.05 n of their range, always" in text
    results = json.loads((tmp_path / "card" / "results.json").read_text())
    figures = evaluate(policy, Arm, 2, 0, deterministic=True).summary()
    assert results["action_fluctuation"] == figures["action_fluctuation"] > 0
    loaded = ContinuousCore.load(tmp_path / "card" / "policy.safetensors")
    obs = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(loaded.predict(obs)[0], policy.predict(obs)[0])


def test_card_of_no_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a model card is for a policy, and this is 3"):
        model_card(3, tmp_path)  # type: ignore[arg-type]
